#!/usr/bin/env node

import { runProgram } from './program.ts'

// A reader that closes the pipe early, such as `head`, is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
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

// A server over stdio has to end with its input, also when its tools keep something open.
if (process.argv[2] === 'mcp') process.exit()
