import './cases/recorder.ts'
import './cases/execution.ts'
import './cases/evidence-flake.ts'
import './cases/evidence-privacy.ts'
