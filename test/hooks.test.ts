import './cases/hooks-config.ts'
import './cases/hooks-install.ts'
import './cases/hooks-managers.ts'
import './cases/hooks-run.ts'
