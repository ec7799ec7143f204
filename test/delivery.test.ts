import './cases/delivery-rules.ts'
import './cases/delivery-model.ts'
