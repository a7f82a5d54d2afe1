import type { Issue } from '../data/error-data.ts'
import { isStandardSchema } from '../data/standard-schema.ts'
import { anyFunction, fine, join, must, refuse, remembered, type Check } from './check.ts'
import { isPlainObject } from './is-plain-object.ts'
import { jsonObject } from './json-value.ts'
import { shape } from './shape.ts'
import { flag, text, timeoutMs } from './values.ts'

/** The words of a tool choice, which a tool can therefore not be called. */
export const toolChoiceWords: readonly string[] = ['auto', 'none', 'required']

const name: Check = (value) => {
  if (typeof value !== 'string' || !/^[\w-]{1,64}$/.test(value)) {
    return refuse('1 to 64 letters, digits, _ or -', value)
  }
  return toolChoiceWords.includes(value)
    ? [{ path: '', problem: `must not be ${value}: it is a word of toolChoice` }]
    : fine
}

const spec = { name, description: text, schema: remembered(jsonObject) }

/** A tool as it stands in a request: plain data only. */
export const toolSpec: Check = shape(spec, { strict: flag })

const tool = shape(spec, {
  strict: flag,
  input: must('a Standard Schema', isStandardSchema),
  handler: anyFunction,
  manual: flag,
  compact: flag,
  summary: text,
  timeoutMs,
  idempotent: flag,
})

/** The problems of a tool, with or without a handler. The schema is checked for being JSON, not for its meaning. */
export function validateTool(value: unknown): readonly Issue[] {
  return tool(value)
}

/** The tools of a list that are named like one before them. */
export function repeatedNames(tools: unknown): readonly Issue[] {
  if (!Array.isArray(tools) || tools.length < 2) return fine
  const seen = new Set<unknown>()
  let issues = fine
  tools.forEach((item: unknown, index) => {
    const toolName = isPlainObject(item) ? item['name'] : undefined
    if (typeof toolName === 'string' && seen.has(toolName)) {
      issues = join(issues, [
        { path: `[${index}].name`, problem: `is used twice among the tools: ${toolName}` },
      ])
    }
    seen.add(toolName)
  })
  return issues
}
