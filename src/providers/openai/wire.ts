import type { JsonObject, JsonValue } from '../../core/types/json.ts'
import { asText } from '../shared/read-json.ts'

/**
 * The id under which an item of the Responses API waits for an answer of the caller: a call that the caller has to make, or a
 * request for approval. Calls that run at the provider have no such id.
 */
export function askedBy({ type, id, call_id }: JsonObject): string | undefined {
  if (type === 'mcp_approval_request') return asText(id)
  return isOutput(type) ? undefined : asText(call_id)
}

/** The id that an item answers. */
export function answeredBy({ type, call_id, approval_request_id }: JsonObject): string | undefined {
  return asText(approval_request_id) ?? (isOutput(type) ? asText(call_id) : undefined)
}

function isOutput(type: JsonValue | undefined): boolean {
  return typeof type === 'string' && type.endsWith('_output')
}
