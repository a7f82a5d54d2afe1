import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../../src/core/types/json.ts'
import { checkAnthropic } from '../../../src/testing/server/check-anthropic.ts'
import { checkGemini } from '../../../src/testing/server/check-gemini.ts'
import { checkOpenaiChat } from '../../../src/testing/server/check-openai-chat.ts'
import { checkOpenaiResponses } from '../../../src/testing/server/check-openai-responses.ts'
import type { RequestProblem } from '../../../src/testing/server/check-params.ts'
import { hasShared, recordedCases } from '../../support/recordings.ts'

const checks: Readonly<Record<string, (body: JsonObject) => RequestProblem | undefined>> = {
  'openai/chat/completions': checkOpenaiChat,
  'openai/responses': checkOpenaiResponses,
  'anthropic/messages': (body) => checkAnthropic(body, true),
  'gemini/generateContent': checkGemini,
  'gemini/streamGenerateContent': checkGemini,
}

interface Meta {
  readonly id: string
  readonly provider: string
  readonly endpoint: string
  readonly status: number
  readonly request: { readonly file: string | null }
}

function read(...path: string[]): unknown {
  return JSON.parse(readFileSync(join(...path), 'utf8'))
}

function recorded(): readonly (readonly [string, Meta, JsonObject])[] {
  return recordedCases().flatMap(({ folder }) => {
    const meta = read(folder, 'meta.json') as Meta
    if (meta.request.file !== 'request.json' || !(key(meta) in checks)) return []
    return [[meta.id, meta, read(folder, 'request.json') as JsonObject] as const]
  })
}

const key = ({ provider, endpoint }: Meta): string => `${provider}/${endpoint}`

const cases = recorded()

describe('by the recorded traffic', () => {
  test('every request that a provider answered is taken', () => {
    const answered = cases.filter(([, { status }]) => status === 200)
    const refused = answered.flatMap(([id, meta, body]) => {
      const problem = checks[key(meta)]?.(body)
      return problem === undefined ? [] : [`${id}: ${problem.message}`]
    })

    expect(answered.length).toBeGreaterThan(hasShared ? 100 : 15)
    expect(refused).toEqual([])
  })

  test.skipIf(!hasShared).each([
    ['openai-err-400-unsupported-01', "Unsupported parameter: 'max_tokens'"],
    ['openai-err-400-schema-01', "Missing 'unit'."],
    ['anthropic-err-400-02', 'all messages must have non-empty content'],
  ])('%s is refused as it was (../shared/fixtures)', (id, message) => {
    const [, meta, body] = cases.find(([name]) => name === id) ?? []
    expect(meta && body && checks[key(meta)]?.(body)?.message).toContain(message)
  })
})
