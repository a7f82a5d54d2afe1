import { readFileSync } from 'node:fs'

/** The version of the package that this program belongs to. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  // Our own file.
  return (JSON.parse(text) as { readonly version: string }).version
}
