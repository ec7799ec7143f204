// Preloaded into a program: kills it right before its STEP-th call that changes files, and writes the number of such calls into
// the file STEPS when it ends by itself.
const { constants, writeFileSync } = require('node:fs')
const files = require('node:fs/promises')

const at = Number(process.env.STEP)
let calls = 0
const meddle = (name, counts = () => true) => {
  const real = files[name]
  files[name] = function (...args) {
    if (counts(args)) calls += 1
    if (calls === at && counts(args)) process.kill(process.pid, 'SIGKILL')
    return real.apply(this, args)
  }
}
for (const name of ['link', 'mkdir', 'rename', 'rm', 'rmdir', 'unlink']) meddle(name)
meddle('open', ([, flags]) => typeof flags === 'number' && (flags & constants.O_WRONLY) !== 0)
process.on('exit', () => writeFileSync(process.env.STEPS, String(calls)))
