/** Whether a value is a promise or anything that `await` would treat as one. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    'then' in value &&
    typeof value.then === 'function'
  )
}

/** Takes the sting out of a promise that nobody will wait for: its rejection is not reported as unhandled. */
export function disown(value: unknown): void {
  if (isThenable(value)) Promise.resolve(value).catch(() => undefined)
}
