import { ConformanceFailure, demand } from '../conformance-failure.ts'
import { within } from '../patience.ts'
import type { ExecutorHarness } from './executor-harness.ts'
import { engineBrand } from '../../contracts/engine.ts'
import type { HandlerOptions, Tool, ToolHandler } from '../../contracts/tool.ts'
import type { JsonObject } from '../../types/json.ts'

/** The arguments that cases give. */
export const sampleArgs: JsonObject = { city: 'Paris', days: [1, 2] }

/** The options that cases give, with everything in them. */
export function sampleOptions(signal: AbortSignal = new AbortController().signal): HandlerOptions {
  return {
    signal,
    context: { tenant: 'acme' },
    toolCall: { id: 'call_1', name: 'weather', arguments: sampleArgs },
    sessionId: 'session-1',
    requestId: 'run-1',
    engine: { [engineBrand]: true, model: 'a-model', imageModel: undefined, context: {} },
  }
}

/** A tool with a handler, or without one. */
export function toolOf(handler?: ToolHandler): Tool {
  const tool: Tool = {
    name: 'weather',
    description: 'Tells how the weather is.',
    schema: { type: 'object' },
    manual: false,
    compact: false,
    idempotent: false,
  }
  return handler === undefined ? tool : { ...tool, handler }
}

/** How an execution ended. */
export interface Execution {
  /** Set when it gave something, `undefined` included. */
  readonly given?: { readonly value: unknown }
  readonly failure?: { readonly thrown: unknown }
}

/** Runs a tool by the executor, however that ends: a value or a promise, a throw or a rejection. */
export async function execute(
  { executor, patienceMs = 2000 }: ExecutorHarness,
  tool: Tool,
  options: HandlerOptions = sampleOptions(),
): Promise<Execution> {
  const run = async (): Promise<unknown> => executor(tool, structuredClone(sampleArgs), options)
  const expected = 'the executor to be settled'
  try {
    return {
      given: { value: await within(run(), { ms: patienceMs, expected, contract: 'executor' }) },
    }
  } catch (thrown) {
    if (thrown instanceof ConformanceFailure) throw thrown
    return { failure: { thrown } }
  }
}

/** Demands that an execution gave something, and not a failure. */
export function demandGiven({ given, failure }: Execution, expected: string): unknown {
  demand(given !== undefined, { expected, received: failure?.thrown, contract: 'executor' })
  return given.value
}
