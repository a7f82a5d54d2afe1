import type { AdapterOptions, ChatAdapter } from '../contracts/adapter.ts'
import type { RecordedCall } from './call-log.ts'
import type { FakeStream } from './play-call.ts'
import type { ModelRequest } from '../types/request.ts'
import type { ModelResponse } from '../types/response.ts'

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
