import './cases/install-files.ts'
import './cases/install-launcher.ts'
import './cases/install-manual.ts'
import './cases/install-completion.ts'
