import type { EngineOptions } from '../adapter/engine.ts'
import type { Issue } from '../data/error-data.ts'
import { anyFunction, fine, must, type Check } from './check.ts'
import { callOptionChecks } from './option-checks.ts'
import { optionsOf } from './shape.ts'
import { someText } from './values.ts'

/**
 * The problems of a call's options: keys that do not exist, with the nearest that does, and values of the wrong kind.
 *
 * `undefined` stands for no options, and for no value of an option.
 */
export function validateCallOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : callOptions(value)
}

const callOptions = optionsOf(callOptionChecks)

/** The problems of an engine's options. A key among them is refused: an engine holds none. */
export function validateEngineOptions(value: unknown): readonly Issue[] {
  return value === undefined ? fine : engineOptions(value)
}

/** An object, of a class or not, that has these methods. */
function withMethods(wording: string, ...names: readonly string[]): Check {
  return must(
    `${wording}, with ${names.join(' and ')}`,
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      names.every((name) => typeof Reflect.get(value, name) === 'function'),
  )
}

const keys: Check = (value) => {
  const legal =
    typeof value === 'function' ||
    (typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((key) => typeof key === 'string'))
  // The value is not shown, whatever it is.
  return legal ? fine : [{ path: '', problem: 'must be a function or an object of strings' }]
}

const { signal: _signal, requestId: _requestId, ...callDefaults } = callOptionChecks

const engineOptions = optionsOf({
  ...callDefaults,
  apiKey: () => [
    { path: '', problem: 'is not for engines, which hold no key; use keys: { provider: key }' },
  ],
  adapter: withMethods('a chat adapter', 'stream'),
  imageAdapter: withMethods('an image adapter', 'generate', 'supportedOperations'),
  imageModel: someText,
  keys,
  clock: withMethods('a clock', 'now', 'sleep'),
  newId: anyFunction,
  toolExecutor: anyFunction,
  toolResultEncoder: anyFunction,
} satisfies Readonly<Record<keyof EngineOptions | 'apiKey', Check>>)
