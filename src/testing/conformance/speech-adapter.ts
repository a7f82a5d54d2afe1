import { bytesToBase64, joined } from '../../core/base/base64.ts'
import type { AdapterOptions, SpeechAdapter, SpeechEvent } from '../../core/contracts/adapter.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { wavFile } from '../../core/messages/wav.ts'
import type { InlineFile } from '../../core/types/media.ts'
import type { SpeechRequest, SpeechResponse } from '../../core/types/models.ts'
import type { SpeechScriptEntry } from '../fakes/fake-speech.ts'
import { demandCancelled } from './adapter-demands.ts'
import type { ConformanceCase, SpeechCapability } from './cases.ts'
import { ConformanceFailure, defaultPatienceMs, demand, until, within } from './demands.ts'
import {
  playModel,
  sharedModelCases,
  type ModelCaseScript,
  type ModelFixture,
  type ModelHarness,
  type ModelPlay,
  type StartedModelAdapter,
} from './model-adapter.ts'

/** Starts a speech adapter whose calls are answered by a script. */
export interface SpeechHarness extends ModelHarness<
  SpeechAdapter,
  SpeechScriptEntry,
  SpeechCapability
> {}

/** A speech adapter, and a view of its requests and connections. The capability `connections` needs `openConnections` too. */
export type StartedSpeechAdapter = StartedModelAdapter<SpeechAdapter>

/** A case for speech adapters. */
export type SpeechCase = ConformanceCase<SpeechHarness, SpeechCapability>

/** A tenth of a second of samples, as a WAV file with the shortest header. */
const tone: InlineFile = {
  type: 'base64',
  base64: bytesToBase64(
    wavFile(
      Int16Array.from({ length: 2400 }, (_, index) => ((index % 50) - 25) * 200),
      { sampleRate: 24_000, channels: 1 },
    ),
  ),
  mimeType: 'audio/wav',
}

const speechPlay: ModelPlay<SpeechAdapter, SpeechRequest, SpeechResponse> = {
  call: 'a speech call',
  contract: 'speechResponse',
  failure: { contract: 'speechFailure', kind: 'adapter', name: 'AdapterError' },
  request: (model, fields = {}) => ({
    text: 'a green parrot',
    model,
    providerOptions: {},
    metadata: {},
    ...fields,
  }),
  send: async (adapter, request, options) => folded(await eventsOf(adapter, request, options)),
}

async function eventsOf(
  adapter: SpeechAdapter,
  request: SpeechRequest,
  options: AdapterOptions,
): Promise<readonly SpeechEvent[]> {
  const events: SpeechEvent[] = []
  for await (const event of adapter.speak(request, options)) events.push(event)
  return events
}

/** The events of a call as its response. */
function folded(events: readonly SpeechEvent[]): SpeechResponse {
  const [started] = events
  const completed = events.at(-1)
  if (started?.type !== 'speech_started' || completed?.type !== 'speech_completed') {
    throw new ConformanceFailure({
      expected: 'speech_started as the first event and speech_completed as the last',
      received: events.map(({ type }) => type),
      contract: 'speechEvents',
    })
  }
  const { type: _type, ...facts } = started
  const pieces = events.flatMap((event) => (event.type === 'audio_delta' ? [event.bytes] : []))
  const { usage } = completed
  return { type: 'base64', base64: bytesToBase64(joined(pieces)), ...facts, usage }
}

type Fixture = ModelFixture<SpeechAdapter, SpeechRequest, SpeechResponse>

/** Runs a case on an adapter that says the tone. */
function speaking(
  act: (fixture: Fixture) => Promise<void>,
  entry: SpeechScriptEntry = ['ok', tone],
): SpeechCase['run'] {
  return (harness) => playModel(harness, speechPlay, [entry], act)
}

/** What only speech has. */
const ownCases: readonly SpeechCase[] = [
  {
    name: 'the audio arrives as it was made, with its type',
    run: speaking(async (fixture) => {
      const { base64, mimeType } = await fixture.succeed()
      demand(base64 === tone.base64 && mimeType === tone.mimeType, {
        expected: `${tone.base64.length} characters of base64, and mimeType ${tone.mimeType}`,
        received: { characters: base64.length, mimeType, isTheSame: base64 === tone.base64 },
        contract: 'speechResponse',
      })
    }),
  },
  {
    name: 'a start, pieces with bytes, and an end, in this order',
    run: speaking(async (fixture) => {
      const events = await eventsOf(fixture.adapter, fixture.request(), {})
      const types = events.map(({ type }) => type)
      const pieces = events.slice(1, -1)
      const legal =
        types[0] === 'speech_started' &&
        types.at(-1) === 'speech_completed' &&
        pieces.length > 0 &&
        pieces.every(
          (event) =>
            event.type === 'audio_delta' &&
            event.bytes instanceof Uint8Array &&
            event.bytes.byteLength > 0,
        )
      demand(legal, {
        expected: 'speech_started, one audio_delta with bytes or more, speech_completed',
        received: types,
        contract: 'speechEvents',
      })
    }),
  },
  {
    name: 'nothing is sent before the first read',
    capability: 'requests',
    run: speaking(async (fixture) => {
      const events = fixture.adapter.speak(fixture.request(), {})[Symbol.asyncIterator]()
      const before = fixture.requests().length
      await events.next()
      await events.return?.()
      demand(before === 0, {
        expected: 'no request before next() is called',
        received: before,
        contract: 'lazy',
      })
    }),
  },
  {
    name: 'the text is sent',
    capability: 'requests',
    run: speaking(async (fixture) => {
      await fixture.succeed({ text: 'an owl on a bicycle' })
      const sent = JSON.stringify(fixture.requests())
      demand(sent.includes('an owl on a bicycle'), {
        expected: 'the text "an owl on a bicycle" in the request',
        received: sent,
        contract: 'conversation',
      })
    }),
  },
  {
    name: 'the voice is sent',
    capability: 'requests',
    run: speaking(async (fixture) => {
      await fixture.succeed({ voice: 'conformance-voice' })
      const sent = JSON.stringify(fixture.requests())
      demand(sent.includes('conformance-voice'), {
        expected: 'the voice "conformance-voice" in the request',
        received: sent,
        contract: 'settings',
      })
    }),
  },
  {
    name: 'tokens of speech are counted',
    capability: 'usage',
    run: speaking(
      async (fixture) => {
        const { usage } = await fixture.succeed()
        demand(usage.inputTokens === 5 && usage.outputTokens === 9, {
          expected: 'inputTokens 5 and outputTokens 9',
          received: usage,
          contract: 'usage',
        })
      },
      ['ok', tone, { usage: { inputTokens: 5, outputTokens: 9 } }],
    ),
  },
  {
    name: 'speech that breaks off is never complete',
    capability: 'cut',
    run: speaking(
      async (fixture) => {
        const { response, failure } = await fixture.call(fixture.request())
        const error = isAllmError(failure?.thrown) ? failure.thrown.toJSON() : undefined
        const isTold =
          error?.reason === 'truncated' ||
          error?.reason === 'network_error' ||
          error?.reason === 'malformed_response'
        demand(response === undefined && isTold, {
          expected: 'StreamError truncated, or an AdapterError',
          received: failure?.thrown ?? `an answer of ${response?.base64.length} characters`,
          contract: 'speechWhole',
        })
      },
      ['ok', tone, { pieceBytes: 1000, cutAfter: 2000 }],
    ),
  },
  {
    name: 'leaving speech early closes the connection',
    capability: 'connections',
    run: leaving(async (events) => void (await events.return?.())),
  },
  {
    name: 'a signal stops speech and closes the connection',
    capability: 'connections',
    run: leaving(async (events, controller) => {
      controller.abort()
      try {
        // What had arrived before may still come.
        while ((await events.next()).done !== true);
      } catch (thrown) {
        return demandCancelled({ thrown })
      }
      return demandCancelled('an end without an error')
    }),
  },
]

/** Reads the first bytes of an answer that stays open, ends it, and waits for its connection to close. */
function leaving(
  leave: (events: AsyncIterator<SpeechEvent>, controller: AbortController) => Promise<void>,
): SpeechCase['run'] {
  return async (harness) => {
    const { model = 'conformance-model', patienceMs: ms = defaultPatienceMs } = harness
    const facts = { pieceBytes: 1000, pauseMs: 600_000 }
    const started = await harness.start([['ok', tone, facts]])
    const wait = { ms, contract: 'resourceSafe' } as const
    const open = (): number => {
      if (started.openConnections !== undefined) return started.openConnections()
      const expected = 'the harness, which declares connections, to return openConnections()'
      throw new ConformanceFailure({ expected, received: undefined, contract: 'harness' })
    }
    try {
      const controller = new AbortController()
      const { signal } = controller
      const request = speechPlay.request(model, undefined)
      const events = started.adapter.speak(request, { signal })[Symbol.asyncIterator]()
      const first = async (): Promise<void> => {
        await events.next()
        await events.next()
      }
      await within(first(), { ...wait, expected: 'the first bytes' })
      await within(leave(events, controller), { ...wait, expected: 'the call to end' })
      const expected = 'no open connection'
      await until(open, (count) => count === 0, { ...wait, expected })
    } finally {
      await started.close?.()
    }
  }
}

const script: ModelCaseScript<SpeechScriptEntry> = {
  ok: ['ok', tone],
  error: (data) => ['error', data],
}

const shared = sharedModelCases(speechPlay, script)

/** The cases for every speech adapter. */
export const speechAdapterCases: readonly SpeechCase[] = [
  ...ownCases,
  ...shared.responses,
  ...shared.failures,
  ...shared.conduct,
]
