import './cases/policy-paths.ts'
