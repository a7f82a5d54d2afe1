import type { AdapterOptions } from '../contracts/adapter.ts'
import { isAborted } from '../core/abort.ts'
import { AdapterError } from '../errors/errors.ts'
import { withoutKey } from './call-log.ts'
import type { CompiledScript } from './compiled-script.ts'
import { fakeProvider, listFor, type FakeMethod, type FakeState } from './fake-state.ts'
import type { CallFacts } from './render-section.ts'
import { scriptedFailure } from './scripted-failure.ts'
import { stoppedBy } from './stopped-by.ts'
import type { ModelRequest } from '../types/request.ts'

/** One call of a fake. */
export interface FakeInput {
  readonly fake: FakeState
  readonly method: FakeMethod
  readonly request: ModelRequest
  readonly options: AdapterOptions
}

/** A call that has begun: its script, and its own facts. */
export interface BegunCall {
  readonly script: CompiledScript
  readonly facts: CallFacts
}

/** Begins a call: it is recorded, then its script is taken. Throws what fails before the first event. */
export function beginCall(input: FakeInput): BegunCall {
  const { fake, method, request, options } = input
  fake.log.add(request, options)
  fake.record?.(request, withoutKey(options))
  const { count } = fake.log
  const requestId = options.requestId ?? options.newId?.('request') ?? `fake-request-${count}`
  const facts: CallFacts = { requestId, provider: fakeProvider, model: request.model }
  if (isAborted(options) && options.signal !== undefined) {
    throw stoppedBy(options.signal, facts, 0)
  }
  const script = count < fake.firstGoodCall ? fake.transient(method) : takeScript(input, requestId)
  if (script.preflight !== undefined) throw preflightFailure(fake, script.preflight, facts)
  fake.lastFailure = undefined
  return { script, facts }
}

function takeScript({ fake, method }: FakeInput, requestId: string): CompiledScript {
  const { scripts, cursor } = listFor(fake, method)
  const script = scripts[cursor.index]
  if (script === undefined) throw exhausted(fake, scripts.length, requestId)
  cursor.advance()
  return script
}

function exhausted(fake: FakeState, scriptCount: number, requestId: string): AdapterError {
  const { lastFailure } = fake
  const scripts = scriptCount === 1 ? '1 script' : `${scriptCount} scripts`
  const retried =
    lastFailure === undefined
      ? ''
      : `; the call before failed with ${lastFailure.reason}, so this may be a retry: script its answer too, or turn retries off`
  return new AdapterError(
    'no_scripted_response',
    `no scripted response for call ${fake.log.count}: the fake has ${scripts}${retried}`,
    { provider: fakeProvider, requestId, cause: lastFailure },
  )
}

function preflightFailure(
  fake: FakeState,
  entry: NonNullable<CompiledScript['preflight']>,
  facts: CallFacts,
): Error {
  const failure = scriptedFailure(entry, facts)
  fake.lastFailure = failure instanceof AdapterError && failure.retryable ? failure : undefined
  return failure
}
