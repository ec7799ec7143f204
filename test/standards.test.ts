import './cases/standards-policy.ts'
import './cases/standards-metrics.ts'
import './cases/standards-ratchet.ts'
import './cases/standards-verb.ts'
