import { expect, test } from 'vitest'
import type { StreamEvent } from '../../../src/core/types/events.ts'
import { createEngine, jsonSchema, partialOutput, streamGenerate } from '../../../src/index.ts'
import { fake, type Script } from '../../../src/testing.ts'

async function* deltas(pieces: readonly string[]): AsyncGenerator<StreamEvent, void> {
  for (const delta of pieces) yield { type: 'text_delta', delta }
}

async function valuesOf(pieces: readonly string[]): Promise<readonly unknown[]> {
  const values: unknown[] = []
  for await (const value of partialOutput(deltas(pieces))) values.push(value)
  return values
}

function times(count: number, piece: (index: number) => string): readonly string[] {
  return Array.from({ length: count }, (_, index) => piece(index))
}

test('an answer of up to 512 items has a value for every delta', async () => {
  const items = await valuesOf(['[', ...times(512, () => '1,')])
  expect(items.map((value) => (value as unknown[]).length)).toEqual(
    Array.from({ length: 513 }, (_, count) => count),
  )
  const members = await valuesOf(['{', ...times(511, (index) => `"k${index}":1,`)])
  expect(members).toHaveLength(512)
})

test('a longer one has fewer values, and all of them are as they were', async () => {
  const pieces = ['{"a":[', ...times(20_000, (index) => `${index},`), '0]', ',"b":"x', 'y"}']
  const seen: [value: { a: number[]; b?: string }, length: number][] = []
  for await (const value of partialOutput(deltas(pieces))) {
    const given = value as { a: number[]; b?: string }
    seen.push([given, given.a.length])
  }
  expect(seen.length).toBeGreaterThan(1000)
  expect(seen.length).toBeLessThan(5000)
  for (const [value, length] of seen) expect(value.a).toHaveLength(length)
  // What is closed is not copied any more: there is a value for every delta again.
  expect(seen.slice(-3).map(([{ a, b }]) => [a.length, b])).toEqual([
    [20_001, undefined],
    [20_001, 'x'],
    [20_001, 'xy'],
  ])
})

test('a value comes when the deltas since the last one count as much as what is copied', async () => {
  const before = '1,'.repeat(10_000)
  const held = await valuesOf([`[${before}`, ...times(40, () => '1,')])
  // The first piece pays for itself. Then each delta of 2 characters counts for 528: 19 of them for 10,019 items, and 20 for 10,039.
  expect(held.map((value) => (value as unknown[]).length)).toEqual([10_000, 10_019, 10_039, 10_040])
  const long = await valuesOf([`[${before}"`, 'x'.repeat(1300)])
  expect(long).toHaveLength(2)
  const members = Array.from({ length: 1000 }, (_, index) => `"k${index}":1,`)
  const object = await valuesOf([`{${members.join('')}`, ...times(40, (index) => `"l${index}":1,`)])
  // A member is as much as 8 items, and each delta of 7 or 8 characters counts for 568 or 576.
  expect(object.map((value) => Object.keys(value as object).length)).toEqual([
    1000, 1015, 1030, 1040,
  ])
})

test('what was held back comes at the end of the answer, and before an error', async () => {
  const many: Script = [
    ['text', '['],
    ...times(3000, () => '1,').map((text) => ['text', text] as const),
  ]
  const engine = (script: Script) =>
    createEngine({
      adapter: fake({ script }),
      responseFormat: jsonSchema('x', { type: 'array', items: { type: 'number' } }),
    })
  const lengths: number[] = []
  for await (const value of partialOutput(streamGenerate(engine(many), 'go'))) {
    lengths.push((value as unknown[]).length)
  }
  expect(lengths.at(-1)).toBe(3000)

  const failing = async (): Promise<void> => {
    const stream = streamGenerate(engine([...many, ['error', 'network_error']]), 'go')
    lengths.length = 0
    for await (const value of partialOutput(stream)) lengths.push((value as unknown[]).length)
  }
  await expect(failing()).rejects.toMatchObject({ reason: 'network_error' })
  expect(lengths.at(-1)).toBe(3000)
})

test('a value is shown up to 500 levels deep', async () => {
  const values = await valuesOf(times(1000, () => '['))
  expect(values).toHaveLength(500)
  expect(JSON.stringify(values.at(-1))).toBe('['.repeat(500) + ']'.repeat(500))
})

test('a member named __proto__ is left out', async () => {
  const values = await valuesOf(['{"__proto__":{"admin":true},', '"a":{"__proto__":[1],"b":2}}'])
  expect(values.map((value) => JSON.stringify(value))).toEqual(['{}', '{"a":{"b":2}}'])
  for (const value of values) expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
})
