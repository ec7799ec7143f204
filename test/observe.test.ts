import './cases/observe-settings.ts'
