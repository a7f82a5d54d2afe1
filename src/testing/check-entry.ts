import {
  fine,
  join,
  json,
  jsonObject,
  must,
  oneOf,
  shape,
  someText,
  text,
  within,
  type Check,
} from '../schema/checks.ts'
import { adapterReason, errorDetails, streamReason } from './error-details-check.ts'
import { responseCheck } from './response-check.ts'
import { usageCheck } from './usage-check.ts'
import { unknownTag, vocabularyOf } from './vocabulary.ts'
import type { Issue } from '../types/error-data.ts'
import { finishReasons } from '../types/response.ts'

/** The problems of one entry: its tag, its length, and what it carries. */
export function checkEntry(entry: unknown): readonly Issue[] {
  if (!Array.isArray(entry) || typeof entry[0] !== 'string') return notAnEntry(entry)
  const items: readonly unknown[] = entry
  const check = vocabularyOf(items) === undefined ? undefined : checkOf(items)
  return check?.(items) ?? [{ path: '', problem: unknownTag(items[0]) }]
}

function notAnEntry(entry: unknown): readonly Issue[] {
  if (Array.isArray(entry) && Array.isArray(entry[0])) {
    return [
      {
        path: '',
        problem: 'is a list of entries, not an entry; a list for each call goes into scripts',
      },
    ]
  }
  return [{ path: '', problem: 'must be an entry, such as ["text", "hello"]' }]
}

function checkOf(items: readonly unknown[]): Check | undefined {
  if (items[0] === 'error') return items.length > 2 ? failure(adapterReason) : term
  // vocabularyOf knows the tag, so it is a string.
  return checks[items[0] as string]
}

const milliseconds: Check = must(
  'a number of milliseconds, 0 or more',
  (value) => typeof value === 'number' && Number.isFinite(value) && value >= 0,
)

const toolCall: Check = shape(
  { id: someText, name: someText },
  { arguments: jsonObject, rawArguments: text, opaque: json },
)

const toolCallDelta: Check = shape({ id: someText, argumentsDelta: text }, { name: someText })

const term: Check = tuple([must('a reason or any other value', (value) => value !== undefined)])

const checks: Readonly<Record<string, Check>> = {
  text: tuple([text]),
  reasoning: tuple([text], [shape({}, { opaque: json })]),
  tool_call: tuple([toolCall]),
  tool_call_delta: tuple([toolCallDelta]),
  usage: tuple([usageCheck]),
  raw_chunk: tuple([json]),
  finish: tuple([oneOf(finishReasons)]),
  delay: tuple([milliseconds]),
  sleep: tuple([milliseconds]),
  ok: tuple([responseCheck]),
  text_delta: tuple([text]),
  preflight_error: failure(adapterReason),
  error_event: failure(adapterReason),
  stream_error: failure(streamReason),
}

function failure(reason: Check): Check {
  return tuple([reason, errorDetails])
}

/** An entry whose elements after the tag pass these checks; the last ones may be left out. */
function tuple(required: readonly Check[], optional: readonly Check[] = []): Check {
  const all = [...required, ...optional]
  const least = required.length + 1
  const most = all.length + 1
  return (value) => {
    // checkEntry hands on lists only.
    const items = value as readonly unknown[]
    if (items.length < least || items.length > most) {
      const wanted = least === most ? `${most}` : `${least} or ${most}`
      return [{ path: '', problem: `must have ${wanted} elements, not ${items.length}` }]
    }
    let issues = fine
    for (let index = 1; index < items.length; index++) {
      issues = join(issues, within(index, all[index - 1]?.(items[index]) ?? fine))
    }
    return issues
  }
}
