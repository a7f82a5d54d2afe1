import type { RetryPolicy } from '../adapter/retry-policy.ts'
import { adapterErrorReasons } from '../errors/adapter-error.ts'
import { imageAdapterErrorReasons } from '../errors/image-adapter-error.ts'
import { fine, refuse, type Check } from './check.ts'
import { listOf, optionsOf } from './shape.ts'
import { between, count, flag, oneOf } from './values.ts'

const delayMs = between(0, 2_147_483_647)

const policy = optionsOf({
  maxAttempts: count,
  baseDelayMs: delayMs,
  maxDelayMs: delayMs,
  jitterMs: delayMs,
  retryOn: listOf(oneOf([...new Set([...adapterErrorReasons, ...imageAdapterErrorReasons])])),
  respectRetryAfter: flag,
} satisfies Record<keyof RetryPolicy, Check>)

/** The option `retry`: `'default'`, `false`, or what differs from the default policy. */
export const retryOption: Check = (value) => {
  if (value === 'default' || value === false) return fine
  return typeof value === 'object' && value !== null
    ? policy(value)
    : refuse('"default", false or a policy', value)
}
