import type { HarnessEntry, SpecEntry } from './script-entry.ts'

/** Which of the two vocabularies a script is written in: that of tests, or that of conformance harnesses. */
export type ScriptShape = 'spec31' | 'harness'

const specTags: readonly SpecEntry[0][] = [
  'text',
  'reasoning',
  'tool_call',
  'tool_call_delta',
  'usage',
  'raw_chunk',
  'finish',
  'error',
  'delay',
  'sleep',
]

const harnessTags: readonly HarnessEntry[0][] = [
  'ok',
  'error',
  'text_delta',
  'preflight_error',
  'error_event',
  'stream_error',
  'tool_call',
  'finish',
]

/**
 * The vocabulary that an entry belongs to, by its tag; `shared` for what both have, `undefined` for what neither has.
 *
 * `error` is told apart by its length: two elements for tests, three for harnesses.
 */
export function vocabularyOf(entry: readonly unknown[]): ScriptShape | 'shared' | undefined {
  const tag = entry[0]
  if (tag === 'error') return entry.length > 2 ? 'harness' : 'spec31'
  const spec = specTags.some((known) => known === tag)
  const harness = harnessTags.some((known) => known === tag)
  if (spec && harness) return 'shared'
  if (spec) return 'spec31'
  return harness ? 'harness' : undefined
}

/** What to say about a tag that neither vocabulary has. It names both, so that a typing error is seen at once. */
export function unknownTag(tag: unknown): string {
  const shown = typeof tag === 'string' ? JSON.stringify(tag) : `of type ${typeof tag}`
  const words = `${specTags.join(', ')} (error with two elements)`
  const harness = `${harnessTags.join(', ')} (error with three elements)`
  return `has the unknown tag ${shown}; scripts say ${words}; harness scripts say ${harness}`
}
