import './cases/change-effort.ts'
import './cases/change-effort-odd.ts'
import './cases/change-lines.ts'
import './cases/change-subject.ts'
