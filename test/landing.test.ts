import './cases/landing.ts'
