import { keyVariables } from '../../core/base/keys.ts'
import { isAllmError } from '../../core/errors/errors.ts'
import { redact } from '../../core/errors/redact.ts'
import type { ErrorData } from '../../core/types/error-data.ts'
import { CliError } from './command.ts'
import { visibleLine, type Io } from './io.ts'
import { serverNames } from './provider.ts'

/** An error in one line: what happened and what to do. Without a stack, and without API keys. */
export function describeError(error: unknown, env: Io['env']): string {
  return visibleLine(hideKeys(wordsOf(error), env))
}

/** The same for an error as plain data, as in events and sessions. */
export function describeFailure(error: ErrorData, env: Io['env']): string {
  return visibleLine(hideKeys(explain(error), env))
}

function wordsOf(error: unknown): string {
  if (error instanceof CliError) return error.message
  if (isAllmError(error)) return explain(error.toJSON())
  return redact(error instanceof Error ? error.message : String(error))
}

/** What happened, without what to do: for a failure that the program itself does something about. */
export function describeAttempt(error: ErrorData, env: Io['env']): string {
  return visibleLine(hideKeys(failureWords(error), env))
}

function explain(error: ErrorData): string {
  const { kind, reason, provider } = error
  const advised = provider !== 'fake' && (kind === 'adapter' || kind === 'engine')
  const advice = advised ? adviceFor(reason, provider) : undefined
  const failed = failureWords(error)
  return advice === undefined ? failed : `${failed}; ${advice}`
}

function failureWords({ kind, reason, message, provider }: ErrorData): string {
  return kind === 'adapter' ? adapterWords(provider, reason, message) : message
}

/** Many messages begin with the name of their provider, which is said once. */
function adapterWords(provider: string = 'the provider', reason: string, message: string): string {
  const [name, words] = [provider.toLowerCase(), message.toLowerCase()]
  if (words.startsWith(`${name}: `)) {
    return `${provider}: ${reason}: ${message.slice(name.length + 2)}`
  }
  return words.startsWith(`${name} `)
    ? `${reason}: ${message}`
    : `${provider}: ${reason}: ${message}`
}

/** What the user can do about an error, if anything. */
function adviceFor(reason: string, provider: string | undefined): string | undefined {
  const variable = provider === undefined ? undefined : keyVariables(provider)[0]
  switch (reason) {
    case 'missing_key':
      return `set ${variable ?? 'its variable'}, or use --provider fake`
    case 'missing_model':
      return 'name one with --model'
    case 'authentication_failed':
      return `check ${variable ?? 'the key'}, and try npx allm-ts doctor`
    case 'rate_limited':
      return 'wait a little, then try again'
    case 'network_error':
    case 'provider_unavailable':
      return 'check the network and --base-url, or try npx allm-ts doctor'
    default:
      return undefined
  }
}

/** Removes every key of the environment, and everything else that looks like a key. */
function hideKeys(text: string, env: Io['env']): string {
  let hidden = text
  for (const variable of serverNames.flatMap(keyVariables)) {
    const key = env[variable]?.trim() ?? ''
    if (key.length > 3) hidden = hidden.replaceAll(key, '[redacted]')
  }
  return redact(hidden)
}
