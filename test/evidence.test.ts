import './cases/recorder.ts'
