// Preloaded into a program: writes the largest resident memory it had, in kilobytes, and its milliseconds, into the file METER.
const { writeFileSync } = require('node:fs')

process.on('exit', () => {
  writeFileSync(process.env.METER, `${process.resourceUsage().maxRSS} ${Math.round(performance.now())}`)
})
