/**
 * Reads a file. What is longer than `maxBytes` is refused where its length is known before it is read; the caller
 * looks at the length again.
 */
export type ReadFile = (path: string, maxBytes: number) => Promise<Uint8Array>

/** The part of `node:fs/promises` that is used. */
interface FileSystem {
  open(path: string, flags: 'r'): Promise<FileHandle>
}

interface FileHandle {
  stat(): Promise<{ readonly size: number; isFile(): boolean }>
  readFile(): Promise<Uint8Array>
  close(): Promise<void>
}

interface Host {
  readonly process?: { readonly getBuiltinModule?: (name: string) => FileSystem | undefined }
}

/** Reads a file through Node's file system. A runtime without one is a plain error that says so. */
export const readImageFile: ReadFile = async (path, maxBytes) => {
  // Node is optional here, so its global is looked up and not declared.
  const files = (globalThis as Host).process?.getBuiltinModule?.('node:fs/promises')
  if (files === undefined) {
    throw new Error('this runtime has no file system; give the bytes with imageFromBytes')
  }
  const file = await files.open(path, 'r')
  try {
    const facts = await file.stat()
    if (!facts.isFile()) throw new Error('it is not a regular file')
    if (facts.size > maxBytes) throw new Error(`it has ${facts.size} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}
