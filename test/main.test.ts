import './cases/main-job.ts'
import './cases/releases.ts'
