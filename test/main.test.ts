import './cases/main-job.ts'
import './cases/situations.ts'
import './cases/releases.ts'
