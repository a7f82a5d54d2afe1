import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { collectEventsSync } from '../../../src/core/answer/fold-answer.ts'
import type { AdapterError } from '../../../src/core/errors/errors.ts'
import type { JsonObject } from '../../../src/core/types/json.ts'
import type { ModelResponse } from '../../../src/core/types/response.ts'
import type { WireAnswer } from '../../../src/providers/gemini/decode.ts'
import { renderRequest } from '../../../src/providers/gemini/render-request.ts'
import { hasShared } from '../../support/recordings.ts'
import {
  eventsOf,
  generated,
  recordings,
  request,
  shared,
  stubbed,
  type Recording,
} from './support.ts'

/** The facts of a recording, from an independent reducer, or written down with an invented one. */
interface Facts {
  readonly id: string | null
  readonly model: string | null
  readonly text: string
  readonly reasoning: string | null
  readonly toolCalls: readonly {
    readonly id: string | null
    readonly name: string
    readonly arguments: JsonObject
  }[]
  readonly signatures: readonly string[]
  readonly inlineData: readonly { readonly mimeType: string; readonly base64Length: number }[]
  readonly finish: string | null
  readonly promptFeedback: JsonObject | null
  readonly usage: Readonly<Record<string, number>> | null
  readonly error?: {
    readonly status: number
    readonly message: string | null
    readonly googleStatus?: string
  }
}

interface Meta {
  readonly status: number
  readonly endpoint: string
  readonly response: { readonly file: string; readonly headers: Record<string, string> }
}

const methods = new Set(['generateContent', 'streamGenerateContent'])
const all = recordings()
  .map((recording) => ({
    ...recording,
    meta: JSON.parse(recording.read('meta.json')) as Meta,
    facts: JSON.parse(recording.read('expect.json')) as Facts,
  }))
  .filter(({ meta, facts }) => methods.has(meta.endpoint) || facts.error !== undefined)

/** Where the independent reader saw something else, and why ours is right. */
const disagreements: Readonly<Record<string, string>> = {
  'gemini-partial-args-stream-01':
    'the arguments are streamed: theirs lists each piece as a call, ours puts the two calls together',
  'gemini-midstream-error-01':
    'the body goes on with a bare error object that is not an event: the official client ignores it',
  'gemini-malformed-01':
    'the candidate has neither content nor an end: theirs reports an empty answer',
  'gemini-prompt-blocked-01': 'the prompt was blocked: ours fails, theirs reports an empty answer',
  'gemini-prompt-blocked-stream-01':
    'the prompt was blocked: ours fails, theirs reports an empty answer',
  'gemini-tts-01':
    'the answer is audio, which is no image: it is kept whole among the parts to echo',
}

const refusals = all.filter(({ facts }) => facts.error !== undefined)
const answers = all.filter(({ id, facts }) => facts.error === undefined && !(id in disagreements))
const named = new Map(all.map((recording) => [recording.id, recording]))

type Case = Recording & { readonly meta: Meta; readonly facts: Facts }

/** Folds a recording the way it was recorded: streamed or whole. */
async function foldRecording({ meta, read }: Case): Promise<ModelResponse> {
  const { adapter } = stubbed({ body: read(meta.response.file) })
  if (meta.endpoint === 'generateContent') return generated(adapter)
  return collectEventsSync(await eventsOf(adapter))
}

function factsOf(response: ModelResponse) {
  const { message, usage } = response
  const parts = typeof message.content === 'string' ? [] : message.content
  const images = parts.flatMap((part) =>
    part.type === 'image' && part.image.type === 'base64' ? part.image : [],
  )
  return {
    id: response.id ?? null,
    model: response.model ?? null,
    text: response.outputText,
    reasoning:
      parts.flatMap((part) => (part.type === 'reasoning' ? part.text : [])).join('') || null,
    toolCalls: response.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    inlineData: images.map(({ mimeType, base64 }) => ({ mimeType, base64Length: base64.length })),
    finish: response.rawFinishReason ?? null,
    usage: {
      inputTokens: usage.inputTokens,
      outputTokens: usage.outputTokens,
      totalTokens: usage.totalTokens,
      cachedInputTokens: usage.cachedInputTokens,
      reasoningTokens: usage.reasoningTokens,
    },
  }
}

function expectedFacts(facts: Facts) {
  const { id, model, text, reasoning, inlineData, finish } = facts
  const { candidatesTokenCount, thoughtsTokenCount, ...usage } = facts.usage ?? {}
  const silent = candidatesTokenCount === undefined && thoughtsTokenCount === undefined
  const { promptTokenCount: prompt, toolUsePromptTokenCount: found } = usage
  return {
    id,
    model,
    text,
    reasoning,
    inlineData,
    finish,
    toolCalls: facts.toolCalls.map(({ name, arguments: args }) => ({ name, arguments: args })),
    usage: {
      inputTokens: found === undefined ? prompt : (prompt ?? 0) + found,
      outputTokens: silent ? undefined : (candidatesTokenCount ?? 0) + (thoughtsTokenCount ?? 0),
      totalTokens: usage['totalTokenCount'],
      cachedInputTokens: usage['cachedContentTokenCount'],
      reasoningTokens: thoughtsTokenCount,
    },
  }
}

describe('recorded answers', () => {
  test.each(answers)('$id folds to what an independent reader saw', async (recording) => {
    const response = await foldRecording(recording)
    expect(factsOf(response)).toEqual(expectedFacts(recording.facts))
    expect(JSON.parse(JSON.stringify(response))).toEqual(response)
    const ids = response.toolCalls.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const sentIds = recording.facts.toolCalls.map(({ id }) => id)
    for (const [index, id] of sentIds.entries()) if (id !== null) expect(ids[index]).toBe(id)
  })

  test.each(answers.filter(({ facts }) => facts.signatures.length > 0))(
    '$id sends every signature back',
    async (recording) => {
      const { message } = await foldRecording(recording)
      const body = JSON.stringify(renderRequest(request({ messages: [message] })).body)
      for (const signature of recording.facts.signatures) expect(body).toContain(signature)
    },
  )

  test.each(answers.filter(({ meta }) => meta.endpoint === 'generateContent'))(
    '$id goes back as it came',
    async (recording) => {
      const { message } = await foldRecording(recording)
      const { candidates } = JSON.parse(recording.read('response.json')) as WireAnswer
      const parts = (candidates?.[0]?.content?.parts ?? []) as readonly JsonObject[]
      const body = renderRequest(request({ messages: [message] })).body
      const model = (body['contents'] as JsonObject[]).find(({ role }) => role === 'model')
      expect(model?.['parts'] ?? []).toEqual(parts)
    },
  )

  test.each(answers.filter(({ meta }) => meta.endpoint === 'generateContent'))(
    '$id comes to the same when it is streamed in one chunk',
    async (recording) => {
      const text = JSON.stringify(JSON.parse(recording.read(recording.meta.response.file)))
      const streamed = await eventsOf(stubbed({ body: `data: ${text}\r\n\r\n` }).adapter)
      expect(collectEventsSync(streamed)).toEqual(await foldRecording(recording))
    },
  )

  test.each(answers.filter(({ meta }) => meta.response.file === 'response.sse'))(
    '$id comes to the same as a list of JSON objects',
    async (recording) => {
      const chunks = recording
        .read('response.sse')
        .split(/\r?\n/)
        .flatMap((line) => (line.startsWith('data: ') ? line.slice(6) : []))
      const { adapter } = stubbed({ body: `[${chunks.join('\n,\r\n')}]` })
      expect(collectEventsSync(await eventsOf(adapter))).toEqual(await foldRecording(recording))
    },
  )

  test.each(refusals)('$id is refused with its own message', async ({ facts, meta, read }) => {
    const { status, response } = meta
    const { adapter } = stubbed({ body: read(response.file), status, headers: response.headers })
    const error = await eventsOf(adapter).catch((problem: AdapterError) => problem)
    expect(error).toMatchObject({ kind: 'adapter', provider: 'gemini', status })
    if (facts.error?.message === null) return
    expect(error).toMatchObject({
      message: facts.error?.message,
      metadata: { googleStatus: facts.error?.googleStatus },
    })
  })
})

describe.skipIf(!hasShared)('recordings that need their own test (../shared/fixtures)', () => {
  const find = (id: string): Case => {
    const recording = named.get(id)
    if (recording === undefined) throw new Error(`there is no recording ${id}`)
    return recording
  }

  test('all of them exist', () => {
    expect(Object.keys(disagreements).filter((id) => !named.has(id))).toEqual([])
  })

  test('streamed arguments become two calls, the first with a signature', async () => {
    const response = await foldRecording(find('gemini-partial-args-stream-01'))
    expect(response.finishReason).toBe('tool_calls')
    expect(response.toolCalls).toMatchObject([
      { name: 'getWeather', arguments: { location: 'Boston' }, opaque: { sentId: null } },
      { name: 'getWeather', arguments: { location: 'San Francisco' } },
    ])
    expect(response.toolCalls[0]?.opaque).toHaveProperty('thoughtSignature')
    expect(response.toolCalls[1]?.opaque).not.toHaveProperty('thoughtSignature')
  })

  test('a bare error object after the events is the last event', async () => {
    const { read } = find('gemini-midstream-error-01')
    const events = await eventsOf(stubbed({ body: read('response.sse') }).adapter)
    expect(events.map(({ type }) => type)).toEqual([
      'message_started',
      'text_delta',
      'text_delta',
      'error',
    ])
    expect(events.at(-1)).toMatchObject({
      error: { kind: 'adapter', reason: 'unknown', status: 499 },
    })
  })

  test('an answer without an end is malformed', async () => {
    const { adapter } = stubbed({ body: find('gemini-malformed-01').read('response.json') })
    await expect(generated(adapter)).rejects.toMatchObject({ reason: 'malformed_response' })
  })

  test.each(['gemini-prompt-blocked-01', 'gemini-prompt-blocked-stream-01'])(
    '%s is a refusal by the content filter',
    async (id) => {
      const { facts, ...recording } = find(id)
      await expect(foldRecording({ ...recording, facts })).rejects.toMatchObject({
        reason: 'content_filter',
        retryable: false,
        metadata: { promptFeedback: facts.promptFeedback },
      })
    },
  )

  test('audio is kept as a part to send back', async () => {
    const response = await foldRecording(find('gemini-tts-01'))
    expect(response.message.content).toMatchObject([
      {
        type: 'provider_item',
        item: { inlineData: { mimeType: 'audio/L16;codec=pcm;rate=24000' } },
      },
    ])
  })
})

/** Where the AI SDK's reading of the same bytes differs, and why ours is right. */
const otherOpinions: Readonly<Record<string, string>> = {
  'gemini-content-filter-01':
    'no output was counted: theirs makes a 0 of it, ours leaves it absent',
}

interface Opinion {
  readonly text: string
  readonly reasoning: string | null
  readonly toolCalls: readonly {
    readonly name: string
    readonly input: string
    readonly providerExecuted?: boolean
  }[]
  readonly finishReason: { readonly raw: string }
  readonly usage: {
    readonly inputTokens: { readonly total?: number }
    readonly outputTokens: { readonly total?: number }
  }
}

const opinions = shared('fixtures/second-opinion/open')

describe.skipIf(!existsSync(opinions))(
  'a second opinion (../shared/fixtures/second-opinion)',
  () => {
    const judged = answers.filter(
      ({ id }) => existsSync(`${opinions}/${id}.json`) && !(id in otherOpinions),
    )
    test.each(judged)('$id is read the same', async (recording) => {
      const text = readFileSync(`${opinions}/${recording.id}.json`, 'utf8')
      const opinion = JSON.parse(text) as Opinion
      const ours = factsOf(await foldRecording(recording))
      expect(ours).toMatchObject({
        text: opinion.text,
        reasoning: opinion.reasoning,
        finish: opinion.finishReason.raw,
        toolCalls: opinion.toolCalls
          .filter((call) => call.providerExecuted !== true)
          .map(({ name, input }) => ({ name, arguments: JSON.parse(input) as JsonObject })),
      })
      // They leave out what hosted tools found.
      const found = recording.facts.usage?.['toolUsePromptTokenCount'] ?? 0
      const { inputTokens } = ours.usage
      expect(inputTokens && inputTokens - found).toBe(opinion.usage.inputTokens.total)
      expect(ours.usage.outputTokens).toBe(opinion.usage.outputTokens.total)
    })
  },
)
