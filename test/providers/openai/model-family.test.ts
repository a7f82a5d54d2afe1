import { expect, test } from 'vitest'
import {
  modelFamily,
  refusesTemperature,
  wireEffort,
} from '../../../src/providers/openai/model-family.ts'

test.each([
  ['gpt-4o', 'chat'],
  ['gpt-4o-mini-2024-07-18', 'chat'],
  ['gpt-4.1-nano', 'chat'],
  ['gpt-4', 'chat'],
  ['gpt-4.5-preview', 'chat'],
  ['gpt-3.5-turbo', 'chat'],
  ['gpt-35-turbo', 'chat'],
  ['gpt-oss-120b', 'chat'],
  ['ft:gpt-4o:acme', 'chat'],
  ['openai/gpt-5', 'chat'],
  ['llama-3.3-70b', 'chat'],
  ['gpt-5-search-api', 'chat'],
  ['gpt-5', 'responses'],
  ['GPT-5-mini', 'responses'],
  ['gpt-5-chat-latest', 'responses'],
  ['gpt-5.4-nano-2026-03-17', 'responses'],
  ['gpt-6-astra', 'responses'],
  ['gpt-12', 'responses'],
  ['o1', 'responses'],
  ['o4-mini', 'responses'],
  ['codex-mini-latest', 'responses'],
])('%s uses the endpoint %s', (model, endpoint) => {
  expect(modelFamily(model).endpoint).toBe(endpoint)
})

test.each([
  ['gpt-4o', 'max_completion_tokens'],
  ['gpt-4.1', 'max_completion_tokens'],
  ['gpt-5', 'max_completion_tokens'],
  ['o3-mini', 'max_completion_tokens'],
  ['gpt-4', 'max_tokens'],
  ['gpt-3.5-turbo', 'max_tokens'],
  ['mistral-large', 'max_tokens'],
])('%s has its limit in %s', (model, field) => {
  expect(modelFamily(model).maxTokensField).toBe(field)
})

test.each([
  ['gpt-5', 'none', 'minimal'],
  ['gpt-5', 'max', 'high'],
  ['gpt-5.1', 'minimal', 'low'],
  ['gpt-5.1', 'none', 'none'],
  ['gpt-5.2', 'max', 'xhigh'],
  ['gpt-5.6-luna', 'max', 'max'],
  ['gpt-5-pro', 'low', 'high'],
  ['gpt-5-codex', 'none', 'low'],
  ['gpt-5.2-codex', 'max', 'xhigh'],
  ['gpt-6-astra', 'none', 'low'],
  ['gpt-6-luna', 'none', 'none'],
  ['o3', 'minimal', 'low'],
  ['gpt-4o', 'high', undefined],
  ['deepseek-v4', 'high', 'high'],
] as const)('%s gets, for the effort %s, %s', (model, effort, sent) => {
  expect(wireEffort(effort, modelFamily(model))).toBe(sent)
})

test.each([
  ['gpt-4o', undefined, false],
  ['llama-3', undefined, false],
  ['gpt-5-chat-latest', undefined, false],
  ['o3', undefined, true],
  ['gpt-5', undefined, true],
  ['gpt-5-nano', 'minimal', true],
  ['gpt-5.4', undefined, false],
  ['gpt-5.4', 'none', false],
  ['gpt-5.4', 'low', true],
  ['gpt-5.6-luna', undefined, true],
  ['gpt-5.6-luna', 'none', false],
  ['gpt-6-astra', undefined, true],
  ['gpt-4o-search-preview', undefined, true],
] as const)('%s with effort %s refuses a temperature: %s', (model, effort, refused) => {
  expect(refusesTemperature(modelFamily(model), effort)).toBe(refused)
})
