import { spawn, type ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import { failure, usageError } from './command.ts'
import type { Io } from './io.ts'

/**
 * Runs a program with more variables in its environment and returns its exit code: its own, or 128 and the number of the signal that ended
 * it, as shells have it.
 *
 * It has the input and the output of this program. Signals are passed on. Ctrl-C at a terminal reaches it by itself; this program then
 * only waits for it.
 */
export async function runChild(
  io: Io,
  [program = '', ...args]: readonly string[],
  variables: Readonly<Record<string, string>>,
): Promise<number> {
  const child = spawn(program, args, {
    env: { ...io.env, ...variables },
    stdio: [
      io.stdin === process.stdin ? 'inherit' : 'pipe',
      io.stdout === process.stdout ? 'inherit' : 'pipe',
      io.stderr === process.stderr ? 'inherit' : 'pipe',
    ],
  })
  connect(child, io)
  const release = passSignals(child, io)
  try {
    return await ended(child, program)
  } finally {
    release()
  }
}

/** Streams that are not those of the process, as in a test. */
function connect(child: ChildProcess, { stdin, stdout, stderr }: Io): void {
  if (child.stdin !== null) stdin.pipe(child.stdin)
  // A program that does not read its input is not a failure.
  child.stdin?.on('error', () => undefined)
  child.stdout?.pipe(stdout, { end: false })
  child.stderr?.pipe(stderr, { end: false })
}

function passSignals(child: ChildProcess, io: Io): () => void {
  const { onInterrupt, onSignal } = io
  const offs = [
    onInterrupt(() => {
      // A terminal sends it to all programs in the foreground.
      if (io.stdin.isTTY !== true) child.kill('SIGINT')
    }),
    onSignal?.('SIGTERM', () => child.kill('SIGTERM')),
    onSignal?.('SIGHUP', () => child.kill('SIGHUP')),
  ]
  return () => {
    for (const off of offs) off?.()
  }
}

function ended(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const problem = `cannot run ${program}: `
      reject(
        error.code === 'ENOENT'
          ? usageError(`${problem}there is no such program; name one that is installed`, error)
          : failure(problem + error.message, error),
      )
    })
    child.once('close', (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]))
    })
  })
}
