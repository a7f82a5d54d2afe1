import type { Tool } from '../contracts/tool.ts'
import { checkArguments, type CheckedArguments } from './check-arguments.ts'
import type { Execution } from './execution.ts'
import { handlerOptions } from './handler-options.ts'
import { readOutcome } from './read-outcome.ts'
import { isThenable } from './thenable.ts'
import { invalidArguments, noSuchTool, raised, toolFailure } from './tool-failure.ts'
import { isToolHelp } from './tool-help.ts'
import type { ToolOutcome } from './tool-outcome.ts'

/**
 * Runs one call: checks its arguments, calls the handler, reads what it gave. Never throws and never rejects.
 *
 * A promise only where the schema or the handler answers by one; it has no deadline, which is for the batch to keep.
 */
export function executeTool(execution: Execution): ToolOutcome | Promise<ToolOutcome> {
  const { call, tool, run } = execution
  if (tool === undefined) return { type: 'error', error: noSuchTool(call, run.tools.keys()) }
  // The built-in tool explains bad arguments by itself, and is nothing that an executor knows.
  if (isToolHelp(tool)) return invoke(execution, tool, { args: call.arguments })
  try {
    const checked = checkArguments(call, tool)
    if (!(checked instanceof Promise)) return invoke(execution, tool, checked)
    return checked.then(
      (settled) => invoke(execution, tool, settled),
      (thrown: unknown) => unchecked(execution, thrown),
    )
  } catch (thrown) {
    return unchecked(execution, thrown)
  }
}

/** A schema threw: it is broken, or it does not know what to do with these arguments. */
function unchecked({ call }: Execution, cause: unknown): ToolOutcome {
  const message = 'the arguments could not be checked'
  return { type: 'error', error: toolFailure('invalid_arguments', call, message, { cause }) }
}

function invoke(
  execution: Execution,
  tool: Tool,
  checked: CheckedArguments,
): ToolOutcome | Promise<ToolOutcome> {
  const { call, control, run } = execution
  if (checked.issues !== undefined) {
    return { type: 'error', error: invalidArguments(call, checked.issues) }
  }
  // While a schema took its time, the call may have been given up; then nothing may start any more.
  if (control.reason !== undefined) return { type: 'error', error: raised(call, control.reason) }
  const executor = isToolHelp(tool) ? undefined : run.executor
  if (executor === undefined && tool.handler === undefined) {
    const message = `tool ${call.name} has no handler`
    return { type: 'error', error: toolFailure('not_found', call, message) }
  }
  try {
    const options = handlerOptions(execution)
    const { args } = checked
    const answer: unknown =
      executor === undefined ? tool.handler?.(args, options) : executor(tool, args, options)
    if (!isThenable(answer)) return readOutcome(call, answer)
    return Promise.resolve(answer).then(
      (value) => readOutcome(call, value),
      (thrown: unknown) => ({ type: 'error', error: raised(call, thrown) }),
    )
  } catch (thrown) {
    return { type: 'error', error: raised(call, thrown) }
  }
}
