import './cases/cli.ts'
import './cases/done-gate.ts'
import './cases/done-reuse.ts'
