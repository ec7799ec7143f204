import './cases/logbook-append.ts'
import './cases/logbook-read.ts'
import './cases/logbook-seal.ts'
import './cases/logbook-verb.ts'
