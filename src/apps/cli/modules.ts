import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Engine } from '../../core/contracts/engine.ts'
import type { Tool } from '../../core/contracts/tool.ts'
import { validateTool } from '../../core/schema/validate.ts'
import { isObject } from '../../core/types/guards.ts'
import { engineParts } from '../../engine/model-call/context.ts'
import { usageError } from './command.ts'

/** An engine, and where it comes from. */
export interface EngineModule {
  readonly engine: Engine
  /** The module, with the name of the export after a `#`. */
  readonly module: string
}

/** The engine that a module exports as `engine`, as its default, or under the name after a `#`. */
export async function readEngine(module: string): Promise<EngineModule> {
  const { file, name, members } = await load(module, ' (--engine)')
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

/**
 * The tools that a module exports as `tools`, as its default, under the name after a `#`, or one by one. `option` is where the
 * command line names the module, for messages.
 */
export async function readTools(module: string, option: string = ''): Promise<readonly Tool[]> {
  const { file, name, members } = await load(module, option)
  const listed = name === undefined ? (members['tools'] ?? members['default']) : members[name]
  if (Array.isArray(listed) && listed.length > 0) {
    // What is listed is checked where it is used.
    return listed as readonly Tool[]
  }
  // Of other exports those that are tools count.
  const others = name === undefined ? Object.values(members) : [listed]
  const found = others.filter((one): one is Tool => validateTool(one).length === 0)
  if (found.length > 0) return found
  const missing = name === undefined ? 'no tools' : `no tools as ${name}`
  throw usageError(
    `${file} exports ${missing}${option}; export them as tools, as a list, or one by one`,
  )
}

interface Loaded {
  readonly file: string
  readonly name: string | undefined
  readonly members: Readonly<Record<string, unknown>>
}

async function load(module: string, option: string): Promise<Loaded> {
  const [file = '', name] = module.split('#')
  const path = resolve(file)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() !== true) {
    const problem = found === undefined ? 'file not found' : 'it is not a file'
    throw usageError(`cannot load ${file}${option}: ${problem}; name a JavaScript module`)
  }
  try {
    const members: unknown = await import(pathToFileURL(path).href)
    return { file, name, members: isObject(members) ? members : {} }
  } catch (error) {
    throw usageError(`cannot load ${file}${option}: ${loadProblem(error)}`, error)
  }
}

/** Why a module cannot be loaded. */
function loadProblem(error: unknown): string {
  const { code, message } = isObject(error) ? error : {}
  if (code === 'ERR_UNKNOWN_FILE_EXTENSION') {
    return `Node ${process.versions.node} does not load TypeScript; use Node 22.18 or newer, or compile it to JavaScript`
  }
  return String(message ?? error).split('\n')[0] ?? ''
}
