import type { SpeechHarness, TranscriptionHarness } from '../../../../src/conformance.ts'
import type {
  SpeechAdapter,
  SpeechEvent,
  TranscriptionAdapter,
} from '../../../../src/core/contracts/adapter.ts'
import {
  AdapterError,
  type SpeechRequest,
  type TranscriptionRequest,
  type TranscriptionResponse,
} from '../../../../src/index.ts'
import {
  fakeSpeechHarness,
  fakeTranscriptionHarness,
  httpSpeechHarness,
  openaiTranscriptionHarness,
} from '../harnesses.ts'
import {
  asked as askedWrongly,
  conductDefects,
  impatient,
  isFollowed,
  sending,
  sharedDefects,
} from './model-mutants.ts'
import type { Mutant } from './mutant.ts'

type Speak = SpeechAdapter['speak']
type Transcribe = TranscriptionAdapter['transcribe']

/** The defects of failures, for an adapter that streams. */
const failureDefects: readonly (readonly [
  defect: string,
  caught: string,
  change: (error: AdapterError) => Error,
])[] = [
  ...(
    [
      'authentication_failed',
      'rate_limited',
      'invalid_request',
      'provider_unavailable',
      'content_filter',
    ] as const
  ).map(
    (reason) =>
      [
        `${reason} is told as unknown`,
        `a speech call that fails with ${reason} rejects with it`,
        (error: AdapterError) => new AdapterError('unknown', error.message),
      ] as const,
  ),
  [
    'Retry-After is lost',
    'a failed speech call says how long to wait',
    ({ reason, message }) => new AdapterError(reason, message),
  ],
  [
    'what the provider says is told as it is',
    'a key that the provider echoes is taken out of the error of a speech call',
    (error) =>
      Object.defineProperty(error, 'message', {
        value: 'sk-conformance0123456789abcdef is wrong',
      }),
  ],
]

/** Where a failure happened. A fake throws the error of its script, so this is for adapters that send something. */
const originDefect = ({ reason, message, status, retryAfterMs }: AdapterError): Error =>
  new AdapterError(reason, message, { status, retryAfterMs })

/** Speech adapters with one defect each. */
export const speechMutants: readonly Mutant<SpeechHarness>[] = [
  ...conductDefects('a speech call').map((one) =>
    speechOnTheWire(
      one.defect,
      one.caught,
      speaking(
        (speak) =>
          async function* (...given) {
            const call = askedWrongly(one, ...given)
            try {
              yield* speak(...call)
            } catch (error) {
              if (!isFollowed(one, error)) throw error
              yield* speak(...call)
            }
          },
      ),
    ),
  ),
  said(
    'the last piece is lost',
    'the audio arrives as it was made, with its type',
    events(async function* (given) {
      let held: SpeechEvent | undefined
      for await (const event of given) {
        if (event.type === 'audio_delta') {
          if (held !== undefined) yield held
          held = event
        } else yield event
      }
    }),
  ),
  said(
    'a piece has no bytes',
    'a start, pieces with bytes, and an end, in this order',
    events(async function* (given) {
      for await (const event of given) {
        if (event.type === 'speech_completed') {
          yield { type: 'audio_delta', bytes: new Uint8Array() }
        }
        yield event
      }
    }),
  ),
  said(
    'the call is made before it is read',
    'nothing is sent before the first read',
    speaking((speak) => (request, options) => {
      const eager = speak(request, options)[Symbol.asyncIterator]()
      const first = eager.next()
      let isFirst = true
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            const step = isFirst ? first : eager.next()
            isFirst = false
            return step
          },
          return: async () => ({ done: true, value: await eager.return?.() }),
        }),
      }
    }),
  ),
  said('another text is said', 'the text is sent', asking({ text: 'something' })),
  said('all have one voice', 'the voice is sent', asking({ voice: 'echo' })),
  said(
    'tokens are not counted',
    'tokens of speech are counted',
    changed('speech_completed', (event) => ({ ...event, usage: {} })),
  ),
  said(
    'half an answer is taken for a whole one',
    'speech that breaks off is never complete',
    events(async function* (given) {
      try {
        yield* given
      } catch {
        yield { type: 'speech_completed', usage: {} }
      }
    }),
  ),
  said(
    'leaving is ignored',
    'leaving speech early closes the connection',
    speaking((speak) => (request, options) => {
      const inner = speak(request, options)[Symbol.asyncIterator]()
      return { [Symbol.asyncIterator]: () => ({ next: () => inner.next() }) }
    }),
  ),
  said(
    'a signal ends speech as if it were over',
    'a signal stops speech and closes the connection',
    speaking(
      (speak) =>
        async function* (request, options = {}) {
          try {
            yield* speak(request, options)
          } catch (error) {
            if (options.signal?.aborted !== true) throw error
          }
        },
    ),
  ),
  said(
    'the id of the run is lost',
    'a response has the id of its run and the name of its provider',
    changed('speech_started', (event) => ({ ...event, requestId: 'another' })),
  ),
  said(
    'metadata is lost',
    'the metadata of a request is on its response',
    changed('speech_started', (event) => ({ ...event, metadata: {} })),
  ),
  said(
    'a start holds a date',
    'a response is plain JSON',
    changed('speech_started', (event) => Object.assign({ at: new Date(0) }, event)),
  ),
  said(
    'the request is written to',
    'a speech call does not change the request',
    speaking((speak) => (request, options) => {
      Object.assign(request.metadata, { seen: true })
      return speak(request, options)
    }),
  ),
  said(
    'the key is in the metadata of a response',
    'the key is in no response',
    speaking(
      (speak) =>
        async function* (request, options = {}) {
          const { apiKey = '' } = options
          for await (const event of speak(request, options)) {
            yield event.type === 'speech_started' ? { ...event, metadata: { apiKey } } : event
          }
        },
    ),
  ),
  said(
    'the key of a call is kept on the adapter',
    'the key is on no property of the adapter',
    speaking((speak) => {
      const keeping: SpeechAdapter['speak'] = (request, options) => {
        Object.assign(keeping, { last: { key: options?.apiKey } })
        return speak(request, options)
      }
      return keeping
    }),
  ),
  ...failureDefects.map(([defect, caught, change]) => said(defect, caught, failing(change))),
  speechOnTheWire(
    'a failure does not say where it happened',
    'a failed speech call names its provider and its run',
    failing(originDefect),
  ),
  said(
    'a signal is not looked at',
    'a signal that is aborted already rejects a speech call with cancelled',
    speaking(
      (speak) =>
        (request, { signal: _signal, ...options } = {}) =>
          speak(request, options),
    ),
  ),
]

type SpeechChange = (adapter: SpeechAdapter) => SpeechAdapter

function said(defect: string, caught: string, change: SpeechChange): Mutant<SpeechHarness> {
  return brokenSpeech(defect, caught, fakeSpeechHarness, change)
}

function speechOnTheWire(
  defect: string,
  caught: string,
  change: SpeechChange,
): Mutant<SpeechHarness> {
  return brokenSpeech(defect, caught, httpSpeechHarness('openai'), change)
}

function brokenSpeech(
  defect: string,
  caught: string,
  right: SpeechHarness,
  change: SpeechChange,
): Mutant<SpeechHarness> {
  const harness: SpeechHarness = {
    ...right,
    patienceMs: 400,
    async start(script, options) {
      const started = await right.start(script, options)
      return { ...started, adapter: change(started.adapter) }
    },
  }
  return { defect, caught, harness }
}

function speaking(change: (speak: Speak) => Speak): SpeechChange {
  return (adapter) => ({
    provider: adapter.provider,
    speak: change((...call) => adapter.speak(...call)),
  })
}

function events(
  change: (given: AsyncIterable<SpeechEvent>) => AsyncIterable<SpeechEvent>,
): SpeechChange {
  return speaking((speak) => (request, options) => change(speak(request, options)))
}

function changed<Type extends SpeechEvent['type']>(
  type: Type,
  change: (event: Extract<SpeechEvent, { type: Type }>) => SpeechEvent,
): SpeechChange {
  return events(async function* (given) {
    for await (const event of given) {
      yield event.type === type ? change(event as Extract<SpeechEvent, { type: Type }>) : event
    }
  })
}

function asking(fields: Partial<SpeechRequest>): SpeechChange {
  return speaking((speak) => (request, options) => speak({ ...request, ...fields }, options))
}

function failing(change: (error: AdapterError) => Error): SpeechChange {
  return events(async function* (given) {
    try {
      yield* given
    } catch (error) {
      throw error instanceof AdapterError ? change(error) : error
    }
  })
}

/** Transcription adapters with one defect each. */
export const transcriptionMutants: readonly Mutant<TranscriptionHarness>[] = [
  ...conductDefects('a transcription call').map((one) =>
    impatient(
      onTheWire(
        one.defect,
        one.caught,
        calling((transcribe) => sending(one, transcribe)),
      ),
    ),
  ),
  written(
    'the text is trimmed to its letters',
    'the text of a transcript arrives as it was written',
    giving((response) => ({ ...response, text: response.text.replaceAll(/\W/g, '') })),
  ),
  written(
    'silence fails',
    'silence is an empty text',
    giving((response) => {
      if (response.text === '') throw new AdapterError('malformed_response', 'no text')
      return response
    }),
  ),
  written(
    'times are in milliseconds',
    'passages have their times in seconds',
    giving(({ segments = [], ...response }) => ({
      ...response,
      segments: segments.map((one) => ({ ...one, start: one.start * 1000, end: one.end * 1000 })),
    })),
  ),
  written(
    'words are lost',
    'words have their times in seconds',
    giving(({ words: _words, ...response }) => response),
  ),
  written(
    'the length is made up',
    'a transcript says its language and how long the recording is',
    giving((response) => ({ ...response, duration: 0 })),
  ),
  onTheWire(
    'half the recording is sent',
    'the recording is sent whole',
    asked((request) => {
      const { file } = request
      if (file.type !== 'base64') return request
      return { ...request, file: { ...file, base64: file.base64.slice(0, 60) } }
    }),
  ),
  onTheWire(
    'the prompt is not sent, and nobody is told',
    'the language and the prompt are sent, or named in warnings',
    asked(({ prompt: _prompt, ...request }) => request),
  ),
  onTheWire(
    'the limit is not told',
    'a recording that is too large is refused with the limit in the message',
    refusing(() => new AdapterError('invalid_request', 'too large')),
  ),
  onTheWire(
    'what is too large is sent first',
    'a recording that is too large is refused before anything is sent',
    (adapter) => ({
      ...adapter,
      transcribe: async (request, options) => {
        const file = { type: 'base64', base64: 'AAAA', mimeType: 'audio/wav' } as const
        await adapter.transcribe({ ...request, file }, options)
        return adapter.transcribe(request, options)
      },
    }),
  ),
  ...sharedDefects<TranscriptionRequest, TranscriptionResponse>('a transcription call').map(
    ([defect, caught, change, isOnTheWire]) =>
      (isOnTheWire === true ? onTheWire : written)(defect, caught, calling(change)),
  ),
]

type TranscriptionChange = (adapter: TranscriptionAdapter) => TranscriptionAdapter

function written(
  defect: string,
  caught: string,
  change: TranscriptionChange,
): Mutant<TranscriptionHarness> {
  return brokenTranscription(defect, caught, fakeTranscriptionHarness, change)
}

function onTheWire(
  defect: string,
  caught: string,
  change: TranscriptionChange,
): Mutant<TranscriptionHarness> {
  return brokenTranscription(defect, caught, openaiTranscriptionHarness, change)
}

function brokenTranscription(
  defect: string,
  caught: string,
  right: TranscriptionHarness,
  change: TranscriptionChange,
): Mutant<TranscriptionHarness> {
  const harness: TranscriptionHarness = {
    ...right,
    patienceMs: 5000,
    async start(script, options) {
      const started = await right.start(script, options)
      return { ...started, adapter: change(started.adapter) }
    },
  }
  return { defect, caught, harness }
}

function calling(change: (transcribe: Transcribe) => Transcribe): TranscriptionChange {
  return (adapter) => ({
    ...adapter,
    provider: adapter.provider,
    transcribe: change((...call) => adapter.transcribe(...call)),
  })
}

function giving(
  change: (response: TranscriptionResponse) => TranscriptionResponse,
): TranscriptionChange {
  return calling(
    (transcribe) =>
      async (...call) =>
        change(await transcribe(...call)),
  )
}

function asked(
  change: (request: TranscriptionRequest) => TranscriptionRequest,
): TranscriptionChange {
  return calling((transcribe) => (request, options) => transcribe(change(request), options))
}

function refusing(change: (error: AdapterError) => Error): TranscriptionChange {
  return calling(
    (transcribe) =>
      (...call) =>
        transcribe(...call).catch((error: unknown) => {
          throw error instanceof AdapterError ? change(error) : error
        }),
  )
}
