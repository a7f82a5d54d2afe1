import type { Tool } from '../contracts/tool.ts'
import { EngineError } from '../errors/errors.ts'
import type { ToolCall } from '../types/message.ts'

/** The error of the first call whose tool does not exist; `undefined` when all exist. */
export function unknownTool(
  calls: readonly ToolCall[],
  tools: ReadonlyMap<string, Tool>,
): EngineError | undefined {
  const call = calls.find(({ name }) => !tools.has(name))
  if (call === undefined) return undefined
  const { name } = call
  return new EngineError('unknown_tool', `there is no tool ${name}`, {
    metadata: { toolName: name },
  })
}
