import { describe, test } from 'vitest'
import { moderationAdapterCases, register } from '../../../src/conformance.ts'
import { fakeModerationHarness, httpModerationHarness } from './harnesses.ts'

describe('the moderation fake', () => {
  register(moderationAdapterCases, fakeModerationHarness, test)
})

describe('openai moderation over HTTP', () => {
  register(moderationAdapterCases, httpModerationHarness, test)
})
