import { ValidationError } from '../errors/errors.ts'
import { checkFakeOptions } from './check-fake-options.ts'
import type { Fake } from './fake-adapter.ts'
import type { FakeOptions } from './fake-options.ts'
import { fakeProvider, fakeState, remainingScripts } from './fake-state.ts'
import { generateCall } from './generate-call.ts'
import { playCall } from './play-call.ts'
import { validateScript } from './validate-script.ts'

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
    generate: (request, callOptions = {}) =>
      generateCall({ fake: state, method: 'generate', request, options: callOptions }),
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
