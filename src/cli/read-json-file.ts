import { readFile } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import { failure } from './cli-error.ts'
import type { Io } from './io.ts'

/** The JSON of a file, or of stdin when the path is `-`. */
export async function readJsonFile(path: string, io: Io): Promise<unknown> {
  const text = path === '-' ? await textOf(io.stdin) : await readTextFile(path)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw failure(`${nameOf(path)} is not JSON: ${readReason(error)}`, error)
  }
}

async function readTextFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw failure(`can not read ${path}: ${readReason(error)}`, error)
  }
}

/** A path, for people. */
export function nameOf(path: string): string {
  return path === '-' ? 'stdin' : path
}

/** Whether a file was not there. */
export function isMissing(error: unknown): boolean {
  return codeOf(error) === 'ENOENT'
}

/** Why a file could not be read or written, in a few words. */
export function readReason(error: unknown): string {
  const code = codeOf(error)
  const words = code === undefined ? undefined : reasons[code]
  return words ?? (error instanceof Error ? error.message : String(error))
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  EACCES: 'it may not be touched',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is not a folder',
  ENOSPC: 'the disk is full',
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string'
    ? error.code
    : undefined
}
