import './cases/validation-key.ts'
import './cases/validation-state.ts'
import './cases/validation-submodules.ts'
