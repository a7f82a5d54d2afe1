import type { Engine } from '../contracts/engine.ts'
import type { CallDefaults, CallOptions, EngineParts } from '../contracts/options.ts'
import type { Tool } from '../contracts/tool.ts'
import { assertValid } from '../schema/checks.ts'
import { validateCallOptions } from '../schema/options.ts'
import { partsOf } from './parts-of.ts'
import type { JsonObject } from '../types/json.ts'

/** What stays the same for all model calls of a run: who calls, with which options, ids, tools and context. */
export interface RunScene {
  readonly engine: EngineParts
  readonly call: CallOptions
  readonly requestId: string
  readonly sessionId: string | undefined
  /** The engine's tools, with the call's added or put in their place. */
  readonly tools: readonly Tool[]
  /** The engine's context, with the session's and the call's merged over it. */
  readonly context: JsonObject
}

/** What a session adds to its runs. */
export interface SessionScene {
  readonly sessionId: string
  readonly context: JsonObject
}

const noOptions: CallOptions = {}

/** Decides what a run shares. Options that do not exist, or of the wrong kind, are refused here. */
export function runScene(engine: Engine, options?: CallOptions, session?: SessionScene): RunScene {
  const parts = partsOf(engine)
  assertValid('invalid_options', validateCallOptions(options))
  const call = options ?? noOptions
  return {
    engine: parts,
    call,
    requestId: call.requestId ?? parts.newId('request'),
    sessionId: session?.sessionId,
    tools: call.tools === undefined ? parts.tools : mergeByName(parts.tools, call.tools),
    context: mergeContext(parts.context, session?.context, call.context),
  }
}

/** An option of the call, or the engine's default. */
export function optionOf<Name extends keyof CallDefaults>(
  scene: RunScene,
  name: Name,
): CallDefaults[Name] {
  return scene.call[name] ?? scene.engine.defaults[name]
}

/** Both lists by name: the first keeps its order, an item of the second takes the place of its namesake. */
export function mergeByName<T extends { readonly name: string }>(
  first: readonly T[],
  second: readonly T[],
): readonly T[] {
  if (second.length === 0) return first
  if (first.length === 0) return second
  const byName = new Map(first.map((item) => [item.name, item]))
  for (const item of second) byName.set(item.name, item)
  return [...byName.values()]
}

function mergeContext(
  engine: JsonObject,
  session: JsonObject | undefined,
  call: JsonObject | undefined,
): JsonObject {
  return session === undefined && call === undefined ? engine : { ...engine, ...session, ...call }
}
