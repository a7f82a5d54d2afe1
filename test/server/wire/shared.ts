import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../support/root.ts'

/** Where the providers' published descriptions are, beside the repository. */
const oraclesFolder: string = join(root, '../shared/oracles')

export const hasOracles: boolean = existsSync(join(oraclesFolder, 'validate.mjs'))

/** Checks a value against a provider's published description; gives the errors. */
export type Oracle = (kind: string, value: unknown) => readonly string[]

/** Loads the oracles. */
export async function loadOracle(mode: 'default' | 'loose'): Promise<Oracle> {
  const { validate } = await import(pathToFileURL(join(oraclesFolder, 'validate.mjs')).href)
  return (kind, value) => validate(kind, value, { mode }).errors ?? []
}
