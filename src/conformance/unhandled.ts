import { turns } from './patience.ts'

/** What Node, Bun and Deno have. */
interface Host {
  on?(name: 'unhandledRejection', listener: (reason: unknown) => void): unknown
  off?(name: 'unhandledRejection', listener: (reason: unknown) => void): unknown
}

/** What browsers and workers have. */
interface Page {
  addEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
  removeEventListener?(name: 'unhandledrejection', listener: (event: PageEvent) => void): void
}

interface PageEvent {
  readonly reason: unknown
}

/** Does something, and gives the rejections meanwhile and shortly after that nobody handled. */
export async function unhandledDuring(act: () => Promise<void>): Promise<readonly unknown[]> {
  // Which of the two there is depends on the runtime; its types are not for this room to know.
  const { process: host } = globalThis as { readonly process?: Host }
  const page = globalThis as Page
  const found: unknown[] = []
  const onHost = (reason: unknown): void => void found.push(reason)
  const onPage = ({ reason }: PageEvent): void => void found.push(reason)
  if (host?.on !== undefined) host.on('unhandledRejection', onHost)
  else page.addEventListener?.('unhandledrejection', onPage)
  try {
    await act()
    // A runtime looks for them after each round of its loop.
    await turns(10)
  } finally {
    host?.off?.('unhandledRejection', onHost)
    if (host?.on === undefined) page.removeEventListener?.('unhandledrejection', onPage)
  }
  return found
}
