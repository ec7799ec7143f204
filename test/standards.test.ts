import './cases/standards-policy.ts'
import './cases/standards-ratchet.ts'
