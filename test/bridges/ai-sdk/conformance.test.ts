import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createOpenAI } from 'ai-sdk-openai-2'
import { register, streamAdapterCases } from 'allm-ts/conformance'
import { describe, expect, test } from 'vitest'
import {
  aiSdkHarness,
  chatMissing,
  providers,
  version,
  type Provider,
} from '../../newer/support/ai-sdk-harness.ts'
import { root } from '../../support/root.ts'

// The models of AI SDK 6 (V3) and 5 (V2). Those of AI SDK 7 (V4) need a newer Node: test/newer/ai-sdk.mjs.

const old: Provider = {
  model: ({ server, ...rest }, id) =>
    createOpenAI({ baseURL: server.openaiBaseUrl, ...rest }).chat(id),
  ownOption: (user) => ({ user }),
  missing: { ...chatMissing, cache_write_usage: 'V2 has no place for it' },
}

test('the models have the specification V3', () => {
  expect(version).toBe('v3')
})

describe.each(Object.entries(providers))('%s of AI SDK 6', (_name, provider) => {
  register(streamAdapterCases, aiSdkHarness(provider), test)
})

describe('openai.chat of AI SDK 5', () => {
  register(streamAdapterCases, aiSdkHarness(old), test)
})

test('the guide lists what was run and what each model does not show (UPDATE_DOCS=1 writes it)', () => {
  const guide = join(root, 'docs/guides/27-models-of-the-ai-sdk.md')
  const text = readFileSync(guide, 'utf8')
  const written = text.replace(
    /(<!-- ai-sdk:start -->)[^]*(<!-- ai-sdk:end -->)/,
    (_, start: string, end: string) => `${start}\n\n${tables()}\n\n${end}`,
  )
  if (process.env['UPDATE_DOCS'] !== undefined) writeFileSync(guide, written)
  const squeezed = (table: string): string => table.replaceAll(/ {2,}|-{2,}/g, ' ')
  expect(squeezed(text)).toBe(squeezed(written))
})

/** The models with the number of their cases, and the reasons why others were not run. */
function tables(): string {
  const models = [...Object.entries(providers), ['openai.chat of V2', old] as const]
  const { capabilities: all = [] } = aiSdkHarness({ ...old, missing: {} })
  const counts = models.map(([name, provider]) => {
    const { capabilities = [] } = aiSdkHarness(provider)
    const asked = streamAdapterCases.filter(
      ({ capability }) => capability === undefined || capabilities.includes(capability),
    )
    return `| \`${name}\` | ${asked.length} of ${streamAdapterCases.length} |`
  })
  const rows = new Map<string, string[]>()
  for (const capability of all) {
    for (const reason of new Set(models.flatMap(([, { missing }]) => missing[capability] ?? []))) {
      const where = models.filter(([, { missing }]) => missing[capability] === reason)
      const names = where.map(([name]) => `\`${name}\``).join(', ')
      const row = `${where.length === models.length ? 'all' : names} | ${reason}`
      rows.set(row, [...(rows.get(row) ?? []), `\`${capability}\``])
    }
  }
  return [
    '| model | cases |\n| --- | --- |',
    ...counts,
    '\n| not declared | by | because |\n| --- | --- | --- |',
    ...Array.from(rows, ([row, names]) => `| ${names.join(', ')} | ${row} |`),
  ].join('\n')
}
