import './cases/store.ts'
