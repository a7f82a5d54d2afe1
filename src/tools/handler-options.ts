import type { HandlerOptions } from '../contracts/tool.ts'
import { stopOf, withLazySignal } from '../core/abort.ts'
import type { Execution } from './execution.ts'

/** What a handler is given beside its arguments. Its signal is made for those who look at it. */
export function handlerOptions({ call, run, control }: Execution): HandlerOptions {
  const { context, sessionId, requestId, engine } = run
  return withLazySignal({
    [stopOf]: control,
    context,
    toolCall: call,
    sessionId,
    requestId,
    engine,
  })
}
