import './cases/delivery-verb.ts'
import './cases/delivery-walk.ts'
