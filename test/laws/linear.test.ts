import { describe, expect, test } from 'vitest'
import { resultOf } from '../../src/bridges/mcp/content.ts'
import { redact, redactProse, redactThrown } from '../../src/core/errors/redact.ts'
import { lateContent, lateMessage, ownContent } from '../../src/core/messages/tool-messages.ts'
import { schemaIssues } from '../../src/core/schema/json-schema.ts'
import { isPublicHost } from '../../src/providers/vision/fetch-image.ts'
import { caseSteps, type CaseSteps } from '../support/steps.ts'

/** Twice the input is twice the work, or a little more where something is sorted; the square would be four times. */
const most = 2.6

test('everything that touches what a model writes is linear', async () => {
  const cases = await caseSteps('test/support/linear-cases.ts')
  expect(cases.length).toBeGreaterThan(200)
  expect(cases.filter(({ error }) => error !== undefined)).toEqual([])
  expect(cases.filter((one) => Math.max(...ratiosOf(one)) > most).map(lineOf)).toEqual([])
})

test('the counter of steps sees loops, copies and searches that take the square', async () => {
  const cases = await caseSteps('test/support/square-cases.ts')
  expect(cases.map(({ name, error }) => [name, error])).toEqual([
    ['a loop in a loop', undefined],
    ['a list that is copied for each item', undefined],
    ['an object that is copied for each member', undefined],
    ['a text that is searched for each character', undefined],
    ['a text that is parsed for each character', undefined],
    ['a text that is matched for each character', undefined],
    ['a list that is searched for each item', undefined],
  ])
  expect(cases.filter((one) => Math.min(...ratiosOf(one)) < 3).map(lineOf)).toEqual([])
})

function ratiosOf({ steps }: CaseSteps): readonly number[] {
  return steps.slice(1).map((count, before) => count / (steps[before] ?? 1))
}

function lineOf(one: CaseSteps): string {
  const ratios = ratiosOf(one).map((ratio) => ratio.toFixed(2))
  return `${one.name}: ${one.steps.join(', ')} steps, times ${ratios.join(' and ')}`
}

/** A pattern that goes back and forth would take hours for so many characters, and the test would not end. */
const million = 1_000_000

describe('a million characters are read by our own patterns:', () => {
  test.each([
    ['stars', '*'.repeat(million)],
    ['stars around words', '*** a'.repeat(million / 5)],
    ['beginnings of keys', 'sk-'.repeat(million / 3)],
    ['words before a key', 'api key: '.repeat(million / 9)],
    ['spaces after a word', `Bearer${' '.repeat(million)}`],
    ['slashes', 'a://'.repeat(million / 4)],
    ['letters', 'a'.repeat(million)],
  ])('%s are redacted', (_what, text) => {
    for (const clean of [redact, redactProse, redactThrown]) {
      expect(typeof clean(text)).toBe('string')
    }
  })

  test.each(['date', 'date-time', 'email', 'uri', 'uuid'])('a text is no %s', (format) => {
    for (const text of [
      `http://${'a'.repeat(million)} `,
      `a@${'a'.repeat(million)}!`,
      `a@${'a.'.repeat(million / 2)}!`,
      `${'a.'.repeat(million / 2)}!`,
      `2026-01-01T00:00:00.${'0'.repeat(million)}`,
    ]) {
      expect(schemaIssues({ format }, text)).toHaveLength(1)
    }
  })

  test('the result of a late call is found in its fence, whatever is in it', () => {
    const output = '\n```tool_output\n'.repeat(million / 16)
    const told = lateContent({ id: 'c', name: 't', arguments: {} }, output)
    expect(ownContent(lateMessage('c', told))).toBe(output)
    expect(ownContent(lateMessage('c', output))).toBe(output)
  })

  test('a result of a million ticks can be fenced', () => {
    const told = lateContent({ id: 'c', name: 't', arguments: {} }, '` '.repeat(million / 2))
    expect(told).toContain('\n```tool_output\n` ')
  })

  test('an address of an MCP server without a slash is the name of its file', () => {
    const resource = { uri: 'a'.repeat(million), blob: 'AAAA', mimeType: 'text/plain' }
    const options = { name: 't', output: undefined, maxResultBytes: 1e9, accepts: () => false }
    const [only] = [resultOf({ content: [{ type: 'resource', resource }] }, options)]
    expect(only).toContain('[left out: text/plain aaa')
  })

  test('a host of dots is not public', () => {
    expect(isPublicHost(`${'.'.repeat(million)}a`)).toBe(true)
    expect(isPublicHost(`localhost${'.'.repeat(million)}`)).toBe(false)
  })
})
