import './cases/landing-interleaved.ts'
import './cases/landing-disk.ts'
import './cases/landing-faults.ts'
