import './cases/delivery-verb.ts'
