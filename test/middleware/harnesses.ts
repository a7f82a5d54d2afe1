import { test } from 'vitest'
import { adapterCases, register, streamAdapterCases } from '../../src/conformance.ts'
import type { ChatHarness } from '../../src/conformance.ts'
import type { ChatAdapter } from '../../src/core/contracts/adapter.ts'
import type { WireFormat } from '../../src/server.ts'
import { fakeHarness, httpHarness } from '../testing/conformance/harnesses.ts'

/** Changes the adapter of a harness: the middleware around it. */
export type Wrap = (adapter: ChatAdapter) => ChatAdapter

/** The whole kit around the fake and around a real wire. */
export function registerAround(format: WireFormat, wrap: Wrap): void {
  registerAroundFake(wrap)
  register(cases, wrapped(httpHarness(format), wrap), named(`around ${format} over HTTP`))
}

/** The whole kit around the fake. */
export function registerAroundFake(wrap: Wrap): void {
  register(cases, wrapped(fakeHarness, wrap), named('around the fake'))
}

const cases = [...streamAdapterCases, ...adapterCases]

function named(where: string): (name: string, run: () => Promise<void>) => void {
  return (name, run) => test(`${where}: ${name}`, run)
}

/** A harness whose adapter has something around it. */
function wrapped(harness: ChatHarness, wrap: Wrap): ChatHarness {
  return {
    ...harness,
    async start(script, options) {
      const started = await harness.start(script, options)
      return { ...started, adapter: wrap(started.adapter) }
    },
  }
}
