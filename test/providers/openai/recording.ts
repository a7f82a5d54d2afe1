import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { ChatAdapter } from '../../../src/core/contracts/adapter.ts'
import { isAllmError, type AllmError } from '../../../src/core/errors/errors.ts'
import type { ModelEvent } from '../../../src/core/types/events.ts'
import type { ModelRequest } from '../../../src/core/types/request.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import { openai, type OpenAiOptions } from '../../../src/openai.ts'
import { recordedCases, type RecordedCase } from '../../support/recordings.ts'

/** One recorded answer. */
export type Recording = RecordedCase

/** The recorded answers of the endpoints of this adapter. */
export function recordings(): readonly Recording[] {
  const foreign = new Set(['anthropic', 'gemini', 'vertex'])
  return recordedCases().filter(
    ({ provider, endpoint }) =>
      !foreign.has(provider) && (endpoint === 'chat/completions' || endpoint === 'responses'),
  )
}

/** A file of a recording, parsed. */
export function recordedJson(recording: Recording, file: string): unknown {
  return JSON.parse(readFileSync(join(recording.folder, file), 'utf8'))
}

/** How an answer came out: the response, or the error and what came before it. */
export interface Outcome {
  readonly response: ModelResponse | undefined
  readonly error: AllmError | undefined
  readonly events: readonly ModelEvent[]
}

/** Plays a recording through an adapter, its body cut into chunks of `size` bytes, or as it was received. */
export async function play(
  recording: Recording,
  size?: number,
  make: (options: Omit<OpenAiOptions, 'api'>) => ChatAdapter = (options) =>
    openai({ ...options, api: recording.endpoint === 'responses' ? 'responses' : 'chat' }),
): Promise<Outcome> {
  const meta = recordedJson(recording, 'meta.json') as RecordedMeta
  const body = readFileSync(join(recording.folder, meta.response.file))
  const adapter = make({
    apiKey: 'test-key',
    fetch: () =>
      Promise.resolve(
        new Response(chunked(body, chunkSizes(recording, size)), {
          status: meta.status,
          headers: { 'content-type': meta.response.contentType },
        }),
      ),
  })
  const request: ModelRequest = {
    model: meta.model ?? 'gpt-4o',
    messages: [{ role: 'user', content: 'hi' }],
    tools: [],
    providerOptions: {},
    metadata: {},
  }
  const events: ModelEvent[] = []
  const options = { requestId: 'run', newId: () => 'made' }
  try {
    if (!recording.streaming) {
      const response = await adapter.generate?.(request, options)
      return { response, error: undefined, events }
    }
    for await (const batch of adapter.stream(request, options)) events.push(...batch)
    return { response: collectEventsSync(events), error: undefined, events }
  } catch (error) {
    if (!isAllmError(error)) throw error
    // Only one model call is made, so what is partial is its response.
    return { response: error.partial as ModelResponse | undefined, error, events }
  }
}

interface RecordedMeta {
  readonly model?: string
  readonly status: number
  readonly response: { readonly file: string; readonly contentType: string }
}

function chunkSizes(recording: Recording, size: number | undefined): (at: number) => number {
  if (size !== undefined) return () => size
  const file = join(recording.folder, 'chunks.json')
  if (!existsSync(file)) return () => Number.POSITIVE_INFINITY
  const sizes = JSON.parse(readFileSync(file, 'utf8')) as readonly number[]
  return (at) => sizes[at] ?? Number.POSITIVE_INFINITY
}

function chunked(body: Uint8Array, sizeAt: (at: number) => number): ReadableStream<Uint8Array> {
  let from = 0
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (from >= body.length) {
        controller.close()
        return
      }
      const to = Math.min(body.length, from + sizeAt(at++))
      controller.enqueue(body.subarray(from, to))
      from = to
    },
  })
}
