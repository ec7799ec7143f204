import './cases/hooks-install.ts'
