import './cases/observe-settings.ts'
import './cases/observe-verb.ts'
