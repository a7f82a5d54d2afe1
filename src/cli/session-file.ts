import { open, readFile, rename, rm } from 'node:fs/promises'
import { failure } from './cli-error.ts'
import { isMissing, readReason } from './read-json-file.ts'
import { isAllmError } from '../errors/errors.ts'
import { Session } from '../session/session.ts'

/** The session of a file; `undefined` when there is no such file. A file of `fileStore` is read as well. */
export async function readSession(path: string): Promise<Session | undefined> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw failure(`can not read ${path}: ${readReason(error)}`, error)
  }
  try {
    return Session.parse(sessionText(text))
  } catch (error) {
    throw failure(`${path}: ${isAllmError(error) ? error.message : readReason(error)}`, error)
  }
}

/** Writes the session to a new file and renames it into place: a kill in the middle leaves the old one whole. */
export async function writeSession(path: string, session: Session): Promise<void> {
  const next = `${path}.${process.pid}.new`
  try {
    const file = await open(next, 'w')
    try {
      await file.writeFile(`${Session.stringify(session)}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(next, path)
  } catch (error) {
    await rm(next, { force: true })
    throw failure(`can not save the session to ${path}: ${readReason(error)}`, error)
  }
}

/** A store wraps the session in an object with a version of its own. */
function sessionText(text: string): string {
  const stored = /^\{"version":\d+,"session":([\s\S]*)\}\s*$/.exec(text)?.[1]
  return stored ?? text
}
