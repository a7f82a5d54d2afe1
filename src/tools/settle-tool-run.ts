import type { Tool } from '../contracts/tool.ts'
import { systemClock } from '../core/clock.ts'
import { partsOf } from '../run/context.ts'
import { assertValid, within } from '../schema/checks.ts'
import { callOptionChecks } from '../schema/options.ts'
import { toolTable } from './compact-tools.ts'
import { toolOptionIssues, type ToolCallsOptions } from './tool-options.ts'
import type { ToolRun } from './tool-run.ts'

/** Settles the options of a batch, once. Throws a `ValidationError` that names every problem. */
export function settleToolRun(tools: readonly Tool[], options: ToolCallsOptions): ToolRun {
  assertValid('invalid_options', toolOptionIssues(options))
  assertValid('invalid_tool', within('tools', callOptionChecks.tools(tools)))
  const engine = options.engine === undefined ? undefined : partsOf(options.engine)
  const { requestId, sessionId, signal } = options
  const { onToolError, toolTimeoutMs, maxConcurrency } = engine?.defaults ?? {}
  return {
    tools: toolTable(tools),
    context: { ...engine?.context, ...options.context },
    requestId,
    sessionId,
    engine: options.engine,
    executor: options.toolExecutor ?? engine?.toolExecutor,
    encoder: options.toolResultEncoder ?? engine?.toolResultEncoder,
    onToolError: options.onToolError ?? onToolError ?? 'continue',
    timeoutMs: options.toolTimeoutMs ?? toolTimeoutMs ?? 30_000,
    maxConcurrency: options.maxConcurrency ?? maxConcurrency,
    signal,
    clock: options.clock ?? engine?.clock ?? systemClock,
  }
}
