// Preloaded into a program: what it reads from and complains to look like an interactive terminal.
for (const stream of [process.stdin, process.stderr]) Object.defineProperty(stream, 'isTTY', { value: true })
