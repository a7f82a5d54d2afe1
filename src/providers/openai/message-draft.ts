import { AdapterError } from '../../errors/errors.ts'
import { cleanMembers } from '../../http/secrets.ts'
import type { CallNotes } from './call-notes.ts'
import { judgeFailure, readFailure } from './parse-failure.ts'
import { asList, asText } from './wire-value.ts'
import type { JsonObject, JsonValue } from '../../types/json.ts'
import type { Part, ToolCall } from '../../types/message.ts'

/**
 * An answer under way: what both endpoints have in common.
 *
 * Nothing is said before there is something to say, so that a failure that comes first fails the call as a whole.
 */
export interface MessageDraft {
  readonly notes: CallNotes
  started: boolean
  done: boolean
  id: string | undefined
  model: string | undefined
  /** Raw chunks that came before the first event. */
  held: JsonValue[]
  /** The content in the order in which it began; a block that is still open has its place, and no text. */
  readonly parts: Part[]
  readonly calls: ToolCall[]
  usage: JsonObject | undefined
  refusal: string
  readonly metadata: Record<string, JsonValue>
  /** The lists of the metadata, which grow. */
  readonly lists: Record<string, JsonValue[]>
}

export function messageDraft(notes: CallNotes): MessageDraft {
  return {
    notes,
    started: false,
    done: false,
    id: undefined,
    model: undefined,
    held: [],
    parts: [],
    calls: [],
    usage: undefined,
    refusal: '',
    metadata: {},
    lists: {},
  }
}

/** Takes the answer's id and model from wherever they are first given. */
export function noteHead(draft: MessageDraft, head: { id?: unknown; model?: unknown }): void {
  draft.id ??= asText(head.id)
  draft.model ??= asText(head.model)
}

/** Adds to a list in the metadata; an empty one is not worth keeping. */
export function noteList(draft: MessageDraft, name: string, items: JsonValue | undefined): void {
  const added = asList(items)
  if (added.length === 0) return
  const known = (draft.lists[name] ??= [])
  for (const item of added) known.push(item)
}

/** The error that a provider reported inside an answer that began as a success. */
export function reportedError(draft: MessageDraft, value: unknown): AdapterError {
  const { provider, requestId, providerRequestId, clean } = draft.notes
  const reported = readFailure(value)
  const { reason, message, metadata, ...rest } = judgeFailure(provider, reported)
  return new AdapterError(reason, clean(message), {
    provider,
    requestId,
    status: reported.status,
    ...rest,
    metadata: {
      ...cleanMembers(metadata ?? {}, clean),
      ...(providerRequestId === undefined ? {} : { providerRequestId }),
    },
  })
}
