import type { JsonObject } from '../../types/json.ts'

/** A request in the words of one endpoint. */
export interface RenderedRequest {
  /** The endpoint's path under the base address. */
  readonly path: string
  readonly body: JsonObject
  /** What the request had and the model's family, or the endpoint, does not take. */
  readonly dropped: readonly string[]
}
