import { compileScript, type CompileOptions } from './compile-script.ts'
import type { CompiledScript } from './compiled-script.ts'
import { memoised } from './memoised.ts'
import type { Script } from './script-entry.ts'

/** Prepares scripts; one that is given for many calls is prepared once. */
export function scriptCompiler(options: CompileOptions): (script: Script) => CompiledScript {
  return memoised((script) => compileScript(script, options))
}
