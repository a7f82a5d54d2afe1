import type { ChatAdapter } from '../../core/contracts/adapter.ts'
import { anyFunction, type Checks } from '../../core/schema/checks.ts'
import { sniffedBody } from '../http/whole-body.ts'
import { headersOf, leanAdapter, type Connection } from '../shared/call.ts'
import { credentialed, settleBedrock, settleVertex } from '../shared/platform.ts'
import { parseFailure } from './failure.ts'
import { claudeChecks, messagesWire, type ClaudeOptions } from './messages-wire.ts'
import type { PlatformOptions, ToPlatform } from './platform-call.ts'

/** The options that Claude has on every platform. */
interface PlacedOptions extends ClaudeOptions, PlatformOptions {
  readonly region?: string | undefined
}

/** Claude on Vertex AI. `toVertex` may be a function that is loaded when it is called. */
export function vertexAdapter(options: PlacedOptions, toVertex: ToPlatform): ChatAdapter {
  const models = { api: 'anthropic', publisher: 'anthropic', checks } as const
  return platformAdapter(settleVertex(options, models), options, toVertex)
}

/** Claude on Amazon Bedrock. `toBedrock` may be a function that is loaded when it is called. */
export function bedrockAdapter(options: PlacedOptions, toBedrock: ToPlatform): ChatAdapter {
  return platformAdapter(settleBedrock(options, { api: 'anthropic', checks }), options, toBedrock)
}

const checks: Checks = { ...claudeChecks, sign: anyFunction }

function platformAdapter(
  connection: Connection,
  options: PlacedOptions,
  toPlatform: ToPlatform,
): ChatAdapter {
  const parts = { headersOf, sniffedBody, parseFailure }
  return leanAdapter({
    ...messagesWire(connection, options),
    prepare: async (call) => credentialed(await toPlatform(call, options, parts), options),
  })
}
