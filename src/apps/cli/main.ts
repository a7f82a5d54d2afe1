#!/usr/bin/env node

import { runProgram } from './program.ts'

// A reader that closes the pipe early, such as `head`, is not a failure. A terminal that was closed takes no more text, but a session is still saved.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EIO') return
  process.exit(error.code === 'EPIPE' ? 0 : 1)
})

process.exitCode = await runProgram({
  argv: process.argv.slice(2),
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  onInterrupt: (listener) => {
    process.on('SIGINT', listener)
    return () => process.off('SIGINT', listener)
  },
  onSignal: (signal, listener) => {
    process.on(signal, listener)
    return () => process.off(signal, listener)
  },
})

// Modules of the user may keep something open: tools, engines, connections of databases. The program ends all the same.
if (['mcp', 'chat', 'inspect'].includes(process.argv[2] ?? '')) {
  process.stdout.write('', () => process.exit())
}
