import './cases/landing.ts'
import './cases/landing-consent.ts'
