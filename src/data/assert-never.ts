/** Ends a `switch` over a closed union: the compiler refuses it as long as a member is not handled. */
export function assertNever(value: never): never {
  throw new TypeError(`unexpected value: ${JSON.stringify(value)}`)
}
