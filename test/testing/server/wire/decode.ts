import { anthropic } from '../../../../src/anthropic.ts'
import type { Clock } from '../../../../src/core/base/clock.ts'
import type { ChatAdapter } from '../../../../src/core/contracts/adapter.ts'
import type { ModelEvent } from '../../../../src/core/types/events.ts'
import type { ModelResponse } from '../../../../src/core/types/response.ts'
import { gemini } from '../../../../src/gemini.ts'
import { collect, modelRequest, user } from '../../../../src/index.ts'
import { openai } from '../../../../src/openai.ts'
import {
  renderWire,
  wireResponse,
  type WireFormat,
  type WireOptions,
} from '../../../../src/server.ts'
import { fake, type Script } from '../../../../src/testing.ts'

/** A clock on which nothing takes time. */
export const instantClock: Clock = { now: () => 0, sleep: () => Promise.resolve() }

/** The bytes of an answer as text. */
export function wireText(format: WireFormat, script: Script, options?: WireOptions): string {
  const { frames } = renderWire(format, script, options)
  return Buffer.concat(frames.map(({ bytes }) => bytes)).toString()
}

/** The events of a streamed answer, parsed. */
export function wireEvents(format: WireFormat, script: Script, options?: WireOptions): unknown[] {
  return wireText(format, script, { stream: true, ...options })
    .split('\n\n')
    .flatMap((event) => {
      const [, data] = /^data: (.*)$/ms.exec(event) ?? []
      return data === undefined || data === '[DONE]' ? [] : [JSON.parse(data)]
    })
}

/** The body of an answer that is not streamed, parsed. */
export function wireBody(format: WireFormat, script: Script, options?: WireOptions): unknown {
  return JSON.parse(wireText(format, script, options))
}

/** The adapter of this library that reads a format, given what a script says in it. */
function adapterOf(format: WireFormat, script: Script, options: WireOptions = {}): ChatAdapter {
  const settings = {
    apiKey: 'test-key',
    fetch: (_url: unknown, init?: { body?: unknown; signal?: AbortSignal | null }) => {
      const stream = format === 'gemini' ? String(_url).includes('stream') : isStream(init?.body)
      const answer = renderWire(format, script, { ...options, stream })
      const signal = init?.signal ?? undefined
      return wireResponse(answer, { clock: instantClock, signal })
    },
  }
  switch (format) {
    case 'openai_chat':
      return openai({ ...settings, api: 'chat' })
    case 'openai_responses':
      return openai({ ...settings, api: 'responses' })
    case 'anthropic':
      return anthropic(settings)
    case 'gemini':
      return gemini(settings)
  }
}

function isStream(body: unknown): boolean {
  return JSON.parse(String(body)).stream === true
}

const request = modelRequest([user('hello')], { model: 'some-model' })

/** Everything that the adapter makes of a script in a format, folded. */
export function decodeWire(
  format: WireFormat,
  script: Script,
  options: WireOptions = {},
): Promise<ModelResponse> {
  return collect(eventsOf(adapterOf(format, script, options)))
}

/** The same for the fake, which needs no wire. */
export function decodeFake(script: Script): Promise<ModelResponse> {
  return collect(eventsOf(fake({ script }), { clock: instantClock }))
}

async function* eventsOf(
  adapter: ChatAdapter,
  options: { clock?: Clock } = {},
): AsyncGenerator<ModelEvent> {
  for await (const batch of adapter.stream(request, { requestId: 'run', ...options })) yield* batch
}

/** The same without streaming on the wire. */
export async function generateWire(
  format: WireFormat,
  script: Script,
): Promise<ModelResponse | undefined> {
  return adapterOf(format, script).generate?.(request, { requestId: 'run' })
}
