import { demand } from './conformance-failure.ts'
import { toJsonValue } from '../errors/to-json-value.ts'
import { isAllmError } from '../errors/errors.ts'

/** A key that looks like nothing, so that only who knows it can hide it. */
export const plainKey = 'conformance-0123456789-hush'

/** A key in the shape of keys, as a provider might quote it. */
export const echoedKey = 'sk-conformance0123456789abcdef'

/** Demands that a key stands nowhere in some values: not in their data, nor in a message, a cause or a stack. */
export function demandNoKey(key: string, values: readonly unknown[]): void {
  const leaking = values.flatMap(textsOf).find((text) => text.includes(key))
  demand(leaking === undefined, {
    expected: 'no key in what an adapter shows',
    received: leaking?.replaceAll(key, '<the key>'),
    contract: 'keys',
    hint: 'never put options, headers or the address of a call into an error, an event or metadata',
  })
}

function textsOf(value: unknown): readonly string[] {
  if (!(value instanceof Error)) return [JSON.stringify(value) ?? '']
  const { message, stack = '', cause } = value
  // The fields of an error that is not ours do not count as its JSON.
  const members = isAllmError(value) ? value : toJsonValue(Object.entries(value))
  const own = [message, stack, JSON.stringify(members)]
  return cause === undefined ? own : [...own, ...textsOf(cause)]
}
