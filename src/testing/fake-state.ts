import type { AdapterError } from '../errors/errors.ts'
import { callLog, type CallLog } from './call-log.ts'
import type { CompiledScript } from './compiled-script.ts'
import type { FakeOptions } from './fake-options.ts'
import { keepRequests } from './keep-requests.ts'
import { scriptCompiler } from './script-compiler.ts'
import { createScriptCursor, type ScriptCursor } from './script-cursor.ts'
import type { Script } from './script-entry.ts'
import { isFlat } from './validate-script.ts'
import type { ModelRequest } from '../types/request.ts'

/** The name of the fakes' provider. */
export const fakeProvider = 'fake'

/** The two ways to call a fake. */
export type FakeMethod = 'generate' | 'stream'

/** Scripts and the place in them. */
export interface ScriptList {
  readonly scripts: readonly CompiledScript[]
  readonly cursor: ScriptCursor
}

/** All that a fake holds. */
export interface FakeState {
  readonly forGenerate: ScriptList
  readonly forStream: ScriptList
  readonly log: CallLog<ModelRequest>
  readonly record: FakeOptions['record']
  readonly cleanupObserver: FakeOptions['cleanupObserver']
  /** The calls before this one play `transient` and take no script. */
  readonly firstGoodCall: number
  /** A time-out: thrown where the call is tried again, else the last event. */
  readonly transient: (method: FakeMethod) => CompiledScript
  openStreams: number
  /** How the last call failed, if it failed before its first event and may be tried again. */
  lastFailure: AdapterError | undefined
}

/** The state of a new fake. The options were checked. */
export function fakeState(options: FakeOptions): FakeState {
  const { script, scripts, streamScript, scriptCursor, usage, retryUntilCall = 1 } = options
  const compile = scriptCompiler({ provider: fakeProvider, usage })
  const list = (calls: readonly Script[]): ScriptList => ({
    scripts: calls.map(compile),
    cursor: scriptCursor ?? createScriptCursor(),
  })
  const shared = script === undefined ? scripts : [script]
  const own = streamScript === undefined ? undefined : streamCalls(streamScript)
  const forGenerate = list(shared ?? own ?? [])
  const timeout = {
    message: `a scripted time-out: this fake answers from call ${retryUntilCall} on`,
  }
  const timeouts: Readonly<Record<FakeMethod, Script>> = {
    generate: [['preflight_error', 'timeout', timeout]],
    stream: [['error_event', 'timeout', timeout]],
  }
  return {
    forGenerate,
    forStream: shared === undefined || own === undefined ? forGenerate : list(own),
    log: callLog(keepRequests()),
    record: options.record,
    cleanupObserver: options.cleanupObserver,
    firstGoodCall: retryUntilCall,
    transient: (method) => compile(timeouts[method]),
    openStreams: 0,
    lastFailure: undefined,
  }
}

/** The scripts that a method plays. */
export function listFor(fake: FakeState, method: FakeMethod): ScriptList {
  return method === 'generate' ? fake.forGenerate : fake.forStream
}

/** How many scripts were not played. */
export function remainingScripts({ forGenerate, forStream }: FakeState): number {
  const remaining = left(forGenerate)
  return forStream === forGenerate ? remaining : remaining + left(forStream)
}

/** How many scripts of a list were not played. */
export function left({ scripts, cursor }: ScriptList): number {
  return Math.max(0, scripts.length - cursor.index)
}

function streamCalls(streamScript: Script | readonly Script[]): readonly Script[] {
  // isFlat tells a list of entries from a list of calls.
  return isFlat(streamScript) ? [streamScript as Script] : (streamScript as readonly Script[])
}
