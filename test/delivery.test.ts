import './cases/delivery-rules.ts'
import './cases/delivery-model.ts'
import './cases/delivery-ledger.ts'
import './cases/delivery-travel.ts'
