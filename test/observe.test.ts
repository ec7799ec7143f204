import './cases/observe-settings.ts'
import './cases/observe-verb.ts'
import './cases/observe-endpoint.ts'
import './cases/observe-verify.ts'
