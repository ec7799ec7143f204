import './cases/landing-disk.ts'
import './cases/landing-faults.ts'
