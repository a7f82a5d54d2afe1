import type { AdapterOptions } from '../adapter/adapter-options.ts'
import type { ChatAdapter } from '../adapter/chat-adapter.ts'
import type { ModelRequest } from '../data/model-request.ts'
import type { ModelResponse } from '../data/model-response.ts'
import { ValidationError } from '../errors/validation-error.ts'
import type { RecordedCall } from './call-log.ts'
import { checkFakeOptions } from './check-fake-options.ts'
import type { FakeOptions } from './fake-options.ts'
import { fakeProvider, fakeState, remainingScripts } from './fake-state.ts'
import { generateCall } from './generate-call.ts'
import { playCall, type FakeStream } from './play-call.ts'
import { validateScript } from './validate-script.ts'

/** A chat adapter that plays scripts. It needs no model and no key. */
export interface Fake extends ChatAdapter {
  readonly provider: 'fake'
  /** The calls that arrived, in order, as frozen plain data: no key, no signal, no clock. */
  readonly calls: readonly RecordedCall<ModelRequest>[]
  /** How many streams were begun and are not over. */
  readonly openStreams: number
  /** How many scripts were not played. */
  readonly remaining: number
  stream(request: ModelRequest, options?: AdapterOptions): FakeStream
  generate(request: ModelRequest, options?: AdapterOptions): Promise<ModelResponse>
  /** Throws a `ValidationError` when scripts are left. */
  assertDone(): void
}

/**
 * Makes an adapter that answers from scripts: the same script gives the same events, every time.
 *
 * Scripts and options are checked here and prepared once, so that a call costs microseconds. A call beyond the last script
 * fails with `no_scripted_response` and says so; the place in the scripts is the fake's own, unless a cursor is given.
 */
export function fake(options: FakeOptions = {}): Fake {
  validateScript(options)
  checkFakeOptions(options)
  const state = fakeState(options)
  return {
    provider: fakeProvider,
    get calls() {
      return state.log.list()
    },
    get openStreams() {
      return state.openStreams
    },
    get remaining() {
      return remainingScripts(state)
    },
    stream: (request, callOptions = {}) =>
      playCall({ fake: state, method: 'stream', request, options: callOptions }),
    generate: (request, callOptions = {}) => generateCall(state, request, callOptions),
    assertDone() {
      const remaining = remainingScripts(state)
      if (remaining > 0) throw notDone(remaining, state.log.count)
    },
  }
}

function notDone(remaining: number, calls: number): ValidationError {
  const scripts = remaining === 1 ? '1 script was' : `${remaining} scripts were`
  const problem = `${scripts} not played; the fake was called ${calls === 1 ? 'once' : `${calls} times`}`
  return new ValidationError('invalid_script', [{ path: '', problem }])
}
