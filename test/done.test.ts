import './cases/cli.ts'
import './cases/done-gate.ts'
