import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './root.ts'

/** One code block of the documentation. */
export interface DocBlock {
  /** The file and line, such as `README.md:12`. */
  readonly place: string
  readonly code: string
  /** A block tagged `no-run` is only compiled: it needs a key, a server, or much time. */
  readonly runs: boolean
  /** With the tag `file=NAME`: other blocks import it by that name. */
  readonly file?: string
  /** The expected output, from its `// =>` comments, line by line. */
  readonly prints: readonly string[]
}

/** Every `ts` block of the README, `llms.txt`, the page about scale and the guides, in order. */
export function docBlocks(): readonly DocBlock[] {
  const guides = join(root, 'docs/guides')
  const names = existsSync(guides) ? readdirSync(guides).filter((name) => name.endsWith('.md')) : []
  return [
    'README.md',
    'llms.txt',
    'docs/scale.md',
    ...names.toSorted().map((name) => `docs/guides/${name}`),
  ].flatMap((file) =>
    existsSync(join(root, file)) ? blocksOf(file, readFileSync(join(root, file), 'utf8')) : [],
  )
}

/** The `ts` blocks of one text. Blocks in other languages are ignored. */
export function blocksOf(file: string, text: string): readonly DocBlock[] {
  return [...text.matchAll(/^( *)```ts( [^\n]*)?\n([^]*?)^\1```$/gm)].map((match) => {
    const [, indent = '', tags = '', body = ''] = match
    const code = body.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
    const [, name] = /(?:^| )file=(\S+)/.exec(tags) ?? []
    return {
      place: `${file}:${text.slice(0, match.index).split('\n').length}`,
      code,
      runs: !tags.trim().split(/\s+/).includes('no-run'),
      ...(name !== undefined && { file: name }),
      prints: [...code.matchAll(/\/\/ => ?(.*)$/gm)].map(([, line = '']) => line.trimEnd()),
    }
  })
}
