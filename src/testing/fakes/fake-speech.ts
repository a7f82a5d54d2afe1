import { leavable, linkedAbort } from '../../core/base/abort.ts'
import { base64ToBytes, bytesToBase64 } from '../../core/base/base64.ts'
import { systemClock } from '../../core/base/clock.ts'
import type { AdapterOptions, SpeechAdapter, SpeechEvent } from '../../core/contracts/adapter.ts'
import { StreamError } from '../../core/errors/errors.ts'
import { wavFile } from '../../core/messages/wav.ts'
import {
  isPlainObject,
  nonNegativeInteger,
  positiveInteger,
  refuse,
  timeoutMs,
  within,
  type Check,
} from '../../core/schema/checks.ts'
import { validateFile } from '../../core/schema/validate.ts'
import type { InlineFile } from '../../core/types/media.ts'
import type { SpeechRequest, SpeechStart } from '../../core/types/models.ts'
import type { Usage } from '../../core/types/response.ts'
import { usageCheck } from './check-script.ts'
import { stoppedBy } from './interpret.ts'
import {
  scriptedFields,
  scriptedModel,
  type ModelGrammar,
  type ModelScriptEntry,
  type PlayedAnswer,
  type ScriptedFacts,
  type ScriptedModel,
  type ScriptedModelOptions,
} from './scripted-model.ts'

/**
 * Makes a speech adapter that answers from a script, or says everything as a soft tone.
 *
 * Without a script every call is answered: with a WAV file whose length grows with the text, the same for the same text, whatever the other
 * settings are. The text is in it as a comment, where `fakeTranscription` finds it. With a script, a call after its last entry fails with
 * `no_scripted_response`. The bytes come in pieces. The answer has the id and the metadata of the request, unless the script has its own.
 */
export function fakeSpeech(options: FakeSpeechOptions = {}): FakeSpeech {
  const { shown, play } = scriptedModel(options, grammar)
  let openStreams = 0
  const opened = (change: 1 | -1): void => void (openStreams += change)
  return {
    provider: 'fake',
    get calls() {
      return shown.calls
    },
    get remaining() {
      return shown.remaining
    },
    get openStreams() {
      return openStreams
    },
    assertDone: () => shown.assertDone(),
    speak: (request, callOptions = {}) =>
      playSpeech(() => play(request, callOptions), request, callOptions, opened),
  }
}

/** Options of `fakeSpeech`. All of them are checked when the fake is made. */
export interface FakeSpeechOptions extends ScriptedModelOptions<SpeechScriptEntry, SpeechRequest> {}

/** A speech adapter that plays a script. It needs no model and no key. */
export interface FakeSpeech extends SpeechAdapter, ScriptedModel<SpeechRequest> {
  readonly provider: 'fake'
  /** The number of streams that were started and have not ended. */
  readonly openStreams: number
}

/** The facts of a scripted answer beside its audio. */
export interface ScriptedSpeechFacts extends ScriptedFacts {
  readonly usage?: Usage
  /** The most bytes of a piece (4096). */
  readonly pieceBytes?: number
  /** How long each piece but the first is waited for, by the clock of the call. */
  readonly pauseMs?: number
  /** The connection breaks after so many bytes: `truncated`. */
  readonly cutAfter?: number
}

/** One entry of a speech script. The audio is a file that holds its bytes, as `fileFromBytes` makes it. */
export type SpeechScriptEntry = ModelScriptEntry<InlineFile, ScriptedSpeechFacts>

/** A file that holds its bytes. */
const inlineFile: Check = (value) =>
  isPlainObject(value) && value['type'] !== 'base64'
    ? within('type', refuse('base64', value['type']))
    : validateFile(value)

const grammar: ModelGrammar<InlineFile, ScriptedSpeechFacts, SpeechRequest> = {
  value: 'file',
  check: inlineFile,
  facts: {
    usage: usageCheck,
    pieceBytes: positiveInteger,
    pauseMs: timeoutMs,
    cutAfter: nonNegativeInteger,
  },
  unscripted: ({ text }) => [softTone(text)],
}

/** The events of one call. The script is read when the first event is. */
function playSpeech(
  play: () => PlayedAnswer<InlineFile, ScriptedSpeechFacts>,
  request: SpeechRequest,
  options: AdapterOptions,
  opened: (change: 1 | -1) => void,
): AsyncGenerator<SpeechEvent, void> {
  const { clock = systemClock } = options
  const abort = linkedAbort(options.signal)
  const { signal } = abort
  let left = false
  const read = async function* (): AsyncGenerator<SpeechEvent, void> {
    opened(1)
    try {
      yield* speechEvents(play(), request, async (answer, sent) => {
        const pause = sent > 0 ? (answer.facts?.pauseMs ?? 0) : 0
        if (pause > 0) await clock.sleep(pause, signal).catch(() => undefined)
        if (signal.aborted) throw stoppedBy(signal, { provider: 'fake', ...answer }, sent)
      })
    } catch (error) {
      if (!left) throw error
    } finally {
      opened(-1)
      abort.unlink()
    }
  }
  return leavable(read(), () => {
    left = true
    abort.abort(new Error('closed'))
  })
}

type Answer = PlayedAnswer<InlineFile, ScriptedSpeechFacts>

async function* speechEvents(
  answer: Answer,
  request: SpeechRequest,
  wait: (answer: Answer, sent: number) => Promise<void>,
): AsyncGenerator<SpeechEvent, void> {
  const { value, facts = {}, requestId } = answer
  const { pieceBytes = 4096, cutAfter = Infinity } = facts
  const bytes = base64ToBytes(value.base64)
  const started: SpeechStart = { mimeType: value.mimeType, ...scriptedFields(answer, request) }
  const end = Math.min(bytes.byteLength, cutAfter)
  for (let at = 0; at < end; at += pieceBytes) {
    await wait(answer, at)
    if (at === 0) yield { type: 'speech_started', ...started }
    yield { type: 'audio_delta', bytes: bytes.slice(at, Math.min(end, at + pieceBytes)) }
  }
  await wait(answer, end)
  if (end < bytes.byteLength) {
    const message = `a scripted break after ${end} of ${bytes.byteLength} bytes`
    throw new StreamError('truncated', message, { provider: 'fake', requestId })
  }
  yield { type: 'speech_completed', usage: facts.usage ?? {} }
}

const sampleRate = 8000

/** How many samples a character has: a twentieth of a second. */
const samplesPerCharacter = sampleRate / 20

/** A text as a tone. The wave is a triangle, so that it is the same on every machine. */
function softTone(text: string): InlineFile {
  const samples = new Int16Array(text.length * samplesPerCharacter)
  const period = 20
  for (let index = 0; index < samples.length; index++) {
    const phase = index % period
    samples[index] = (Math.abs(phase - period / 2) - period / 4) * 400
  }
  const bytes = wavFile(samples, { sampleRate, channels: 1 }, text)
  return { type: 'base64', base64: bytesToBase64(bytes), mimeType: 'audio/wav' }
}
