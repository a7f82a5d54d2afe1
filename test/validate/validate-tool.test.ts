import { expect, test } from 'vitest'
import { z } from 'zod'
import { validateTool } from '../../src/schema/validate.ts'

const tool = { name: 'look', description: 'Looks.', schema: { type: 'object' } }

test.each<[string, object]>([
  ['a specification', tool],
  [
    'a whole tool',
    {
      ...tool,
      handler: () => 1,
      input: z.object({}),
      manual: false,
      compact: true,
      summary: 's',
      timeoutMs: 5,
      idempotent: true,
      strict: true,
    },
  ],
  ['the longest name', { ...tool, name: 'a-B_9'.padEnd(64, 'x') }],
])('%s is legal', (_name, value) => {
  expect(validateTool(value)).toEqual([])
})

test.each<[string, object, string, string]>([
  ['an empty name', { name: '' }, 'name', 'must be 1 to 64 letters, digits, _ or -, not ""'],
  [
    'a name with a space',
    { name: 'a b' },
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "a b"',
  ],
  [
    'a name with a line break',
    { name: 'a\n' },
    'name',
    'must be 1 to 64 letters, digits, _ or -, not "a\\n"',
  ],
  [
    'a name too long',
    { name: 'x'.repeat(65) },
    'name',
    `must be 1 to 64 letters, digits, _ or -, not "${'x'.repeat(48)}…"`,
  ],
  ['the name none', { name: 'none' }, 'name', 'must not be none: it is a word of toolChoice'],
  [
    'the name required',
    { name: 'required' },
    'name',
    'must not be required: it is a word of toolChoice',
  ],
  ['no description', { description: null }, 'description', 'must be a string, not null'],
  ['a list for a schema', { schema: [] }, 'schema', 'must be a JSON object, not an empty list'],
  [
    'a function in the schema',
    { schema: { a: { b: () => 1 } } },
    'schema.a.b',
    'must be a JSON value, not a function',
  ],
  ['a handler that is no function', { handler: 'run' }, 'handler', 'must be a function, not "run"'],
  ['a summary that is no text', { summary: 5 }, 'summary', 'must be a string, not 5'],
  ['manual that is null', { manual: null }, 'manual', 'must be true or false, not null'],
  [
    'a deadline of nothing',
    { timeoutMs: 0 },
    'timeoutMs',
    'must be a positive number of milliseconds, at most 2147483647, not 0',
  ],
  [
    'a deadline that a timer can not wait for',
    { timeoutMs: Infinity },
    'timeoutMs',
    'must be a positive number of milliseconds, at most 2147483647, not Infinity',
  ],
  [
    'an input that is no schema',
    { input: {} },
    'input',
    'must be a Standard Schema, not an object',
  ],
  ['a misspelt key', { handlr: 1 }, '', 'unknown key handlr; did you mean handler?'],
])('%s is refused', (_name, change, path, problem) => {
  expect(validateTool({ ...tool, ...change })).toEqual([{ path, problem }])
})
