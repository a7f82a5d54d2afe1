import { expect, test } from 'vitest'
import type { ReasoningEffort } from '../../../src/core/types/request.ts'
import {
  modelFamily,
  renderRequest,
  thinkingConfig,
} from '../../../src/providers/gemini/render-request.ts'
import { request } from './support.ts'

const efforts: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'max']

test.each<readonly [string, readonly (string | number | undefined)[]]>([
  ['gemini-3-pro-preview', ['LOW', 'LOW', 'LOW', 'HIGH', 'HIGH', 'HIGH']],
  ['gemini-3.1-pro-preview', ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ['gemini-3-flash-preview', ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ['gemini-3.5-flash-lite', ['MINIMAL', 'MINIMAL', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ['gemini-3.8-flash', ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ['gemini-flash-latest', ['LOW', 'LOW', 'LOW', 'MEDIUM', 'HIGH', 'HIGH']],
  ['gemini-2.5-pro', [128, 512, 1024, 8192, 24_576, 32_768]],
  ['models/gemini-2.5-flash', [0, 512, 1024, 8192, 24_576, 24_576]],
  ['gemini-2.5-flash-lite', [0, 512, 1024, 8192, 24_576, 24_576]],
  ['gemini-2.0-flash', [undefined, undefined, undefined, undefined, undefined, undefined]],
])('%s gets the thinking level or budget that it supports', (model, expected) => {
  const said = efforts.map((effort) => {
    const config = thinkingConfig({ effort }, modelFamily(model), () => undefined)
    return config?.['thinkingLevel'] ?? config?.['thinkingBudget']
  })
  expect(said).toEqual(expected)
})

test('a summary asks for the thoughts', () => {
  const body = renderRequest(request({ reasoning: { effort: 'low', summary: true } })).body
  expect(body['generationConfig']).toEqual({
    thinkingConfig: { thinkingBudget: 1024, includeThoughts: true },
  })
})

test('without a reasoning setting nothing is sent about thinking', () => {
  expect(renderRequest(request()).body).not.toHaveProperty('generationConfig')
})
