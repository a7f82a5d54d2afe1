import type { HandlerOptions } from '../adapter/tool.ts'
import type { Execution } from './execution.ts'
import { signalOf, type HandlerSwitch } from './handler-switch.ts'

const switchOf: unique symbol = Symbol('allm-ts.switch')

interface SwitchedOptions extends HandlerOptions {
  readonly [switchOf]: HandlerSwitch
}

/** What a handler is given beside its arguments. */
export function handlerOptions({ call, run, control }: Execution): HandlerOptions {
  const options = {
    [switchOf]: control,
    context: run.context,
    toolCall: call,
    sessionId: run.sessionId,
    requestId: run.requestId,
    engine: run.engine,
  }
  return Object.defineProperty(options, 'signal', lazySignal) as SwitchedOptions // `signal` was just added.
}

const lazySignal: PropertyDescriptor & ThisType<SwitchedOptions> = {
  enumerable: true,
  configurable: true,
  get() {
    return signalOf(this[switchOf])
  },
}
