import { readFile } from 'node:fs/promises'
import { refused } from '../../durable/runs/handler.ts'
import { safeHeaders } from './answers.ts'

/** The files of the page, and their types. */
const types: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
}

/** Whether a name is that of a file of the page. */
export function isPageFile(name: string): boolean {
  return Object.hasOwn(types, name)
}

/** The page talks to the inspector that it came from and to nobody else, runs only its own script, and is in no frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data: blob:',
  'media-src data: blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A file of the page. It holds no data, so that it may be served to anybody. */
export async function pageFile(name: string, folder: URL | undefined): Promise<Response> {
  const bytes = await found(name, folder === undefined ? places : [folder])
  return new Response(bytes, {
    headers: {
      ...safeHeaders,
      'content-security-policy': policy,
      'content-type': types[name] ?? 'application/octet-stream',
    },
  })
}

/** Where the build puts the page, from the modules, from the bundles for Node, and from the sources. */
// Not `new URL(path, import.meta.url)`: webpack takes that for an asset, and replaces it with one that it cannot find.
const here: string = import.meta.url
const places: readonly URL[] = [
  '../../inspector/',
  '../inspector/',
  '../../../dist/inspector/',
].map((path) => new URL(path, here))

async function found(name: string, folders: readonly URL[]): Promise<Uint8Array<ArrayBuffer>> {
  for (const folder of folders) {
    try {
      return new Uint8Array(await readFile(new URL(name, folder)))
    } catch {
      // It may be in the next one.
    }
  }
  throw refused(
    503,
    'page_not_built',
    `the page of the inspector is not built: ${name} is missing. In a clone of allm-ts, run npm run build`,
  )
}
