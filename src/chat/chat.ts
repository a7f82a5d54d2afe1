import { createLoop, startAt, type ThreadInput } from './create-loop.ts'
import type { Loop } from './loop.ts'
import { drainLoop, loopStream } from './run-loop.ts'
import type { Engine } from '../contracts/engine.ts'
import type { CallOptions, FormatOption } from '../contracts/options.ts'
import { toChatResult } from '../run/collector.ts'
import { outputSchema, parseOutput, type WithOutput } from '../run/output.ts'
import type { RunStream } from '../run/run-stream.ts'
import type { ChatResult } from '../types/results.ts'

/** A chat's result; with a schema as `responseFormat`, a completed one has its validated, typed `output`. */
export type ChatResultOf<Format> = ChatResult & Partial<WithOutput<Format>>

/**
 * Runs the loop: model calls and their tools, until nothing is left to do or something halts. The fold of `streamChat`.
 *
 * It rejects when a model call fails; the error's `partial` is the result so far, with a thread that can be sent.
 */
export async function chat<Format extends FormatOption = FormatOption>(
  engine: Engine,
  input: ThreadInput,
  options?: CallOptions<Format>,
): Promise<ChatResultOf<Format>> {
  const loop = createLoop(engine, startAt(input), options)
  const result = await drainLoop(loop, 'chat', toChatResult)
  // What the schema gave is what its type says.
  return (await withOutput(loop, result)) as ChatResultOf<Format>
}

/** Runs the loop and gives its events as they come: those of each step, then `chat_completed`. */
export function streamChat(engine: Engine, input: ThreadInput, options?: CallOptions): RunStream {
  const loop = createLoop(engine, startAt(input), options)
  return loopStream(loop, 'chat')
}

/** Validates the final answer, when it is one and a schema was given. */
export async function withOutput(
  loop: Loop,
  result: ChatResult,
): Promise<ChatResult & { readonly output?: unknown }> {
  const schema = outputSchema(loop.format)
  if (schema === undefined || result.haltedReason !== 'completed') return result
  const text = result.finalResponse?.outputText ?? ''
  return { ...result, output: await parseOutput(schema, text, result) }
}
