import './cases/landing-faults.ts'
