import { format } from 'node:util'
import { vi } from 'vitest'

/** Points the imports of the package in a block at its sources. */
export function fromSource(code: string, source: string): string {
  return code
    .replaceAll(/(['"])allm-ts\1/g, `'${source}/index.ts'`)
    .replaceAll(/(['"])allm-ts\/([a-z-]+)\1/g, `'${source}/$2.ts'`)
}

/** Runs a file and returns what it prints, line by line. */
export async function printedBy(path: string): Promise<readonly string[]> {
  let printed = ''
  const log = vi.spyOn(console, 'log').mockImplementation((...values: unknown[]) => {
    printed += `${format(...values)}\n`
  })
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    printed += String(chunk)
    return true
  })
  try {
    await import(path)
  } finally {
    log.mockRestore()
    write.mockRestore()
  }
  return printed === ''
    ? []
    : printed
        .replace(/\n$/, '')
        .split('\n')
        .map((line) => line.trimEnd())
}
