import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import * as adapter from '../../../src/adapter.ts'
import {
  embeddingAdapterCases,
  imageAdapterCases,
  moderationAdapterCases,
  rerankAdapterCases,
  speechAdapterCases,
  streamAdapterCases,
  transcriptionAdapterCases,
} from '../../../src/conformance.ts'
import { requestKeys } from '../../../src/core/types/request.ts'
import { everyCapability } from '../../../src/testing/conformance/cases.ts'
import { root } from '../../support/root.ts'

const guide = readFileSync(join(root, 'docs/guides/25-writing-an-adapter.md'), 'utf8')

/** The lines of a text that are neither blank nor comments. */
function codeLines(text: string): number {
  return text.split('\n').filter((line) => !/^\s*(\/\/|\/?\*|$)/.test(line)).length
}

function between(start: string, end: string): string {
  const from = guide.indexOf(start)
  return guide.slice(from, guide.indexOf(end, from))
}

test('the adapter for a model in the process has fewer than 50 lines', () => {
  const adapter = between('export function local(', '// ---- The harness')
  expect(adapter).toContain('embeddedStream(')
  expect(codeLines(adapter)).toBeLessThan(50)
})

test('the whole provider of the guide is the template of new-adapter, in fewer than 120 lines', () => {
  const template = readFileSync(join(root, 'templates/adapter/src/parrot.ts'), 'utf8')
  expect(guide).toContain(template.trimEnd())
  expect(codeLines(template)).toBeLessThan(120)
})

test('the embedding adapter of the guide has at most 40 lines', () => {
  const adapter = between('export function magpieEmbeddings(', '// ---- The harness')
  expect(adapter).toContain('modelCaller(')
  expect(codeLines(adapter)).toBeLessThanOrEqual(40)
})

test('the guide says of every field of a request what an adapter does with it', () => {
  const table = between('### Every field of a request', '| of a message')
  const named = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name)
  expect(named).toEqual(requestKeys)
})

test('the guide lists every value of allm-ts/adapter', () => {
  const table = between('### What `allm-ts/adapter` has', '## The harness')
  const named = new Set([...table.matchAll(/`(\w+)[(`]/g)].map(([, name]) => name))
  expect(Object.keys(adapter).filter((name) => !named.has(name))).toEqual([])
})

test('the guide names every capability of chat adapters, and none that there is not', () => {
  const shown = new Set(streamAdapterCases.flatMap(({ capability }) => capability ?? []))
  const table = guide.slice(
    guide.indexOf('## Capabilities'),
    guide.indexOf('## In your test runner'),
  )
  const named = [...table.matchAll(/`([a-z_]+)`/g)]
    .map(([, name]) => name)
    .filter((name) => name !== undefined && Object.hasOwn(everyCapability, name))
  expect(new Set(named)).toEqual(shown)
})

test('the guide names every capability of the other models, and none that there is not', () => {
  const cases = [
    ...embeddingAdapterCases,
    ...moderationAdapterCases,
    ...rerankAdapterCases,
    ...imageAdapterCases,
    ...transcriptionAdapterCases,
    ...speechAdapterCases,
  ]
  const shown = new Set<string>(cases.flatMap(({ capability }) => capability ?? []))
  const tables = between('The capabilities of all kinds:', '## The other kits')
  const rows = [...tables.matchAll(/^\|[^|\n]*\|[^|\n]*\|$/gm)].join('\n')
  const named = [...rows.matchAll(/`([a-z_]+)`/g)]
    .map(([, name]) => name)
    .filter((name) => name !== undefined && Object.hasOwn(everyCapability, name))
  expect(new Set(named)).toEqual(shown)
})
