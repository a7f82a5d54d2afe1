import { describe, test } from 'vitest'
import { imageAdapterCases, register } from '../../../src/conformance.ts'
import { fakeImagesHarness, httpImagesHarness } from './harnesses.ts'

describe('the image fake', () => {
  register(imageAdapterCases, fakeImagesHarness, test)
})

describe.each(['openai', 'gemini'] as const)('%s images over HTTP', (provider) => {
  register(imageAdapterCases, httpImagesHarness(provider), test)
})
