import './cases/notes-converge.ts'
import './cases/notes-merge.ts'
