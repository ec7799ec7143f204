import './cases/proof-envelope.ts'
import './cases/proof-marker.ts'
import './cases/proof-note.ts'
