import './cases/proof-envelope.ts'
