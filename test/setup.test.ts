import './cases/setup-verb.ts'
import './cases/setup-config.ts'
import './cases/doctor-fetch.ts'
