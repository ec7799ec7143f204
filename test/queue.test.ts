import './cases/submission.ts'
import './cases/grant.ts'
import './cases/standing.ts'
import './cases/grant-verb.ts'
