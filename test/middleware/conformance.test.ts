import { describe } from 'vitest'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import { AdapterError } from '../../src/index.ts'
import { cache, circuitBreaker, fallback, guard, limit } from '../../src/middleware.ts'
import { fakeModeration } from '../../src/testing.ts'
import { registerAround, registerAroundFake } from './harnesses.ts'
import { failing, renamed } from './renamed.ts'

describe('a cache', () => {
  // A case that plays two scripts for the same request would get the first answer twice.
  let calls = 0
  registerAround('anthropic', (adapter) =>
    cache(adapter, { store: new Map(), key: () => `${++calls}` }),
  )
})

describe('a circuit breaker', () => {
  registerAround('anthropic', (adapter) => circuitBreaker(adapter, { failures: 3 }))
})

describe('a limit', () => {
  registerAround('openai_chat', (adapter) =>
    limit(adapter, { concurrency: 4, requestsPerMinute: 1000, tokensPerMinute: 1_000_000 }),
  )
})

describe('a fallback', () => {
  describe('behind an adapter of the same provider that is down', () => {
    registerAround('openai_chat', (adapter) => {
      const { provider, server } = adapter
      const isDown: ChatAdapter = {
        provider,
        server,
        stream: (_request, { requestId } = {}) =>
          failing(new AdapterError('provider_unavailable', 'down', { provider, requestId })),
      }
      return fallback([isDown, adapter])
    })
  })

  describe('before an adapter of another provider', () => {
    const spare = renamed('spare', { scripts: [] })
    registerAroundFake((adapter) => fallback([adapter, spare], { on: () => false }))
  })
})

describe('a guard with checks that pass', () => {
  describe('by a moderation adapter', () => {
    registerAround('openai_responses', (adapter) =>
      guard(adapter, {
        // The kit sends files, too.
        input: {
          check: fakeModeration(),
          failOpen: ({ reason }) => reason === 'unsupported_feature',
        },
        output: fakeModeration(),
      }),
    )
  })

  describe('by functions that hold everything back', () => {
    registerAround('anthropic', (adapter) =>
      guard(adapter, {
        input: async () => false,
        output: { check: async () => false, hold: true, every: 1 },
      }),
    )
  })
})

describe('limits, a breaker and a fallback around each other', () => {
  registerAroundFake((adapter) =>
    limit(circuitBreaker(fallback([limit(adapter, { concurrency: 4 })]), { failures: 3 }), {
      concurrency: 4,
    }),
  )
})
