import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../contracts/engine.ts'
import { engineParts } from '../run/context.ts'
import { isObject } from '../types/guards.ts'
import { usageError } from './command.ts'
import { loadProblem } from './mcp-serve.ts'

/** The engine that a module exports as `engine`, as its default, or under the name after a `#`. */
export async function readEngine(module: string | undefined): Promise<Engine | undefined> {
  if (module === undefined) return undefined
  const [file = '', name] = module.split('#')
  let exported: unknown
  try {
    exported = await import(pathToFileURL(resolve(file)).href)
  } catch (error) {
    throw usageError(`${file} cannot be loaded (--engine): ${loadProblem(error)}`)
  }
  const members = isObject(exported) ? exported : {}
  const found = name === undefined ? (members['engine'] ?? members['default']) : members[name]
  try {
    engineParts(found as Engine) // It refuses any other value.
    return found as Engine
  } catch {
    const wanted = name ?? 'engine'
    throw usageError(`${file} exports no ${wanted} made by createEngine (--engine)`)
  }
}
