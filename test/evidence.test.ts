import './cases/recorder.ts'
import './cases/execution.ts'
