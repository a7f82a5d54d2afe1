import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../core/clock.ts'
import type { PreparedAnswer, PreparedWrite } from './prepared-answer.ts'

/** What sending needs beside the answer. */
export interface SendOptions {
  readonly clock: Clock
  /** Aborted when the server closes; it ends waits, silences and streams. */
  readonly signal: AbortSignal
  /** Gives every write its own turn, so that the other side sees the pieces. */
  readonly pieces: boolean
}

/**
 * Writes an answer. One that is a single write without a wait is written at once, before this returns.
 *
 * The promise is fulfilled when everything is written, or when the other side has left; it never rejects.
 */
export function sendAnswer(
  response: ServerResponse,
  answer: PreparedAnswer,
  options: SendOptions,
): Promise<void> | undefined {
  const { status, headers, writes, end } = answer
  const [first, second] = writes
  if (status > 0 && end === 'normal' && second === undefined && (first?.delayMs ?? 0) === 0) {
    response.writeHead(status, headers)
    response.end(first?.bytes)
    return undefined
  }
  return sendSlowly(response, answer, options)
}

async function sendSlowly(
  response: ServerResponse,
  { status, headers, writes, end }: PreparedAnswer,
  options: SendOptions,
): Promise<void> {
  const gone = new AbortController()
  const leave = (): void => gone.abort(new Error('the connection was closed'))
  response.once('close', leave)
  options.signal.addEventListener('abort', leave, { once: true })
  try {
    for (const [index, write] of writes.entries()) {
      await writeAfterWait(response, write, gone.signal, {
        ...options,
        head: index === 0 ? () => response.writeHead(status, headers) : undefined,
      })
    }
    if (end === 'normal') response.end()
    else if (end === 'cut') response.destroy()
    else await silence(gone.signal)
  } catch {
    // The other side has left, or the server closes: there is nobody to tell.
    response.destroy()
  } finally {
    response.off('close', leave)
    options.signal.removeEventListener('abort', leave)
  }
}

interface WriteOptions extends SendOptions {
  /** Sends the status and the headers, before the first bytes. */
  readonly head: (() => void) | undefined
}

async function writeAfterWait(
  response: ServerResponse,
  { bytes, delayMs }: PreparedWrite,
  gone: AbortSignal,
  { clock, pieces, head }: WriteOptions,
): Promise<void> {
  if (delayMs > 0) await clock.sleep(delayMs, gone)
  if (pieces) await setImmediate()
  gone.throwIfAborted()
  head?.()
  await new Promise<void>((resolve, reject) => {
    const leave = (): void => reject(new Error('the connection was closed'))
    gone.addEventListener('abort', leave, { once: true })
    // The callback comes when the bytes are with the system, so that nothing is lost when the connection is closed.
    response.write(bytes, (error) => {
      gone.removeEventListener('abort', leave)
      if (error) reject(error)
      else resolve()
    })
  })
}

/** Waits until the other side leaves. */
function silence(gone: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const leave = (): void => reject(new Error('the connection was closed'))
    if (gone.aborted) leave()
    gone.addEventListener('abort', leave, { once: true })
  })
}
