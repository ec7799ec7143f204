import './cases/patterns-flake.ts'
