/** The switch that stops one handler. */
export interface HandlerSwitch {
  /** Why the handler was told to stop; `undefined` while it may run. */
  stopped: Error | undefined
  /** Made when the handler first looks at its signal. */
  controller: AbortController | undefined
}

/** A switch that nobody has used yet. */
export function handlerSwitch(): HandlerSwitch {
  return { stopped: undefined, controller: undefined }
}

/** Tells the handler to stop. */
export function stopHandler(control: HandlerSwitch, reason: Error): void {
  control.stopped = reason
  control.controller?.abort(reason)
}

/** The handler's signal. A signal costs more than all the rest of a call, so it is made for those who look at it. */
export function signalOf(control: HandlerSwitch): AbortSignal {
  if (control.controller === undefined) {
    control.controller = new AbortController()
    if (control.stopped !== undefined) control.controller.abort(control.stopped)
  }
  return control.controller.signal
}
