import './cases/architecture.ts'
import './cases/store.ts'
