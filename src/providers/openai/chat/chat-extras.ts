import type { MessageDraft } from '../message-draft.ts'
import { asObject } from '../wire-value.ts'
import type { JsonObject, JsonValue } from '../../../types/json.ts'

/** The members of a chunk and of a choice that are read elsewhere, or say nothing. */
const common: ReadonlySet<string> = new Set([
  'id',
  'object',
  'created',
  'model',
  'choices',
  'usage',
  'obfuscation',
  'p',
  'index',
  'delta',
  'message',
  'finish_reason',
  'logprobs',
])

/** Keeps what a server said beyond the common members, under its own names. The last word holds. */
export function noteExtras(
  draft: MessageDraft,
  chunk: JsonObject,
  choice: JsonObject | undefined,
): void {
  for (const members of [chunk, choice ?? {}]) {
    for (const [name, value] of Object.entries(members)) {
      if (!common.has(name) && value !== null && value !== '') draft.metadata[name] = value
    }
  }
}

/** The members of audio that are streamed in pieces. */
const audioGrows: ReadonlySet<string> = new Set(['data', 'transcript'])

/** Keeps spoken output, its pieces joined. */
export function noteAudio(draft: MessageDraft, audio: JsonValue): void {
  const known: Record<string, JsonValue> = { ...asObject(draft.metadata['audio']) }
  for (const [name, value] of Object.entries(asObject(audio) ?? {})) {
    const before = known[name]
    known[name] =
      audioGrows.has(name) && typeof before === 'string' && typeof value === 'string'
        ? before + value
        : value
  }
  draft.metadata['audio'] = known
}

/** Groq counts in a place of its own when it was not asked to count. */
export function usageInExtras(draft: MessageDraft): JsonObject | undefined {
  return asObject(asObject(draft.metadata['x_groq'])?.['usage'])
}
