import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../contracts/engine.ts'
import { engineParts } from '../run/context.ts'
import { isObject } from '../types/guards.ts'
import { usageError } from './command.ts'
import { loadProblem } from './mcp-serve.ts'

/** An engine, and where it comes from. */
export interface EngineModule {
  readonly engine: Engine
  /** The module, with the name of the export after a `#`. */
  readonly module: string
}

/** The engine that a module exports as `engine`, as its default, or under the name after a `#`. */
export async function readEngine(module: string): Promise<EngineModule> {
  const [file = '', name] = module.split('#')
  let exported: unknown
  try {
    exported = await import(pathToFileURL(resolve(file)).href)
  } catch (error) {
    throw usageError(`${file} cannot be loaded (--engine): ${loadProblem(error)}`)
  }
  const members = isObject(exported) ? exported : {}
  const wanted =
    name ?? (members['engine'] === undefined && 'default' in members ? 'default' : 'engine')
  const found = members[wanted]
  try {
    engineParts(found as Engine) // It refuses any other value.
    return { engine: found as Engine, module: `${file}#${wanted}` }
  } catch {
    throw usageError(`${file} exports no ${name ?? 'engine'} made by createEngine (--engine)`)
  }
}
