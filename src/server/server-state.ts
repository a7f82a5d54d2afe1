import type { IncomingHttpHeaders } from 'node:http'
import type { ChatAnswers } from './chat-answers.ts'
import type { FakeServerOptions } from './fake-server-options.ts'
import { faultOf, type Fault } from './faults.ts'
import type { PreparedAnswer } from './prepared-answer.ts'
import type { ScriptSource } from './script-source.ts'
import type { JsonValue } from '../types/json.ts'
import type { WireFormat } from '../wire/wire-answer.ts'

/** What a server keeps between requests. */
export interface ServerState {
  readonly options: FakeServerOptions
  readonly source: ScriptSource
  readonly answers: ChatAnswers
  /** Calls of models that were not refused for what they said. */
  calls: number
}

/** A request that is whole. */
export interface Incoming {
  /** Counts all requests from 1. */
  readonly number: number
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** `undefined` when it was too large to be read. */
  readonly bytes: Buffer | undefined
  readonly key: string | undefined
  readonly requestId: string
}

/** What a request is answered with, and what was read of it. */
export interface Decision {
  readonly answer: PreparedAnswer
  readonly body?: JsonValue
  readonly format?: WireFormat
}

/** Counts a call of a model and says what goes wrong with it. */
export function nextFault(state: ServerState): Fault | undefined {
  const { faults = [], failures } = state.options
  return faultOf(state.calls++, faults, failures)
}
