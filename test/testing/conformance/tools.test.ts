import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, test } from 'vitest'
import { register, toolExecutorCases, toolResultEncoderCases } from '../../../src/conformance.ts'
import { encodeJson } from '../../../src/engine/tools/results.ts'
import { ToolError, type ToolExecutor, type ToolResultEncoder } from '../../../src/index.ts'

const plain: ToolExecutor = (tool, args, options) => {
  if (tool.handler === undefined) throw new ToolError('not_found', `${tool.name} has no handler`)
  return tool.handler(args, options)
}

const storage = new AsyncLocalStorage<string>()

/** What one might write: every handler knows its call, and takes its turn. */
const traced: ToolExecutor = async (tool, args, options) =>
  storage.run(options.toolCall.id, async () => {
    await Promise.resolve()
    return plain(tool, args, options)
  })

describe.each([
  ['that calls the handler', plain],
  ['that runs handlers in a context of their own', traced],
])('an executor %s', (_what, executor) => {
  register(toolExecutorCases, { executor }, test)
})

describe('the default encoder', () => {
  register(
    toolResultEncoderCases,
    { encoder: encodeJson, capabilities: ['plain_text', 'json'] },
    test,
  )
})

describe('an encoder with a form of its own', () => {
  const outline: ToolResultEncoder = (value) => lines(value, '').join('\n')
  register(toolResultEncoderCases, { encoder: outline }, test)
})

/** A value as an outline, which some models read better than JSON. */
function lines(value: unknown, at: string): readonly string[] {
  if (typeof value !== 'object' || value === null)
    return [`${at}= ${JSON.stringify(value) ?? 'nothing'}`]
  return [
    `${at}${Array.isArray(value) ? 'list' : 'object'}`,
    ...Object.entries(value).flatMap(([key, member]) => lines(member, `${at}${key} `)),
  ]
}
