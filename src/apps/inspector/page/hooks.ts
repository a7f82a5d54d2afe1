import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { InspectorRefusal } from './client.ts'

/** Draws again whenever something says that it has changed. */
export function useChanges(
  source: { readonly subscribe: (listener: () => void) => () => void } | undefined,
): void {
  const [, setCount] = useState(0)
  useEffect(() => source?.subscribe(() => setCount((count) => count + 1)), [source])
}

/** Whether a media query holds, now and later. */
export function useMedia(query: string): boolean {
  const [matches, setMatches] = useState(() => matchMedia(query).matches)
  useEffect(() => {
    const list = matchMedia(query)
    const listen = (): void => setMatches(list.matches)
    list.addEventListener('change', listen)
    return () => list.removeEventListener('change', listen)
  }, [query])
  return matches
}

/** Calls a task from time to time while the page is seen, and when it is seen again. */
export function useVisibleInterval(task: () => void, ms: number): void {
  const latest = useRef(task)
  latest.current = task
  useEffect(() => {
    const look = (): void => {
      if (document.visibilityState === 'visible') latest.current()
    }
    const timer = setInterval(look, ms)
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [ms])
}

/** Something that a person asked for: whether it is under way, and why it was refused. */
export interface Action {
  readonly isBusy: boolean
  readonly failure: string | undefined
  /** Does it. Resolves with whether it worked; a refusal is kept in `failure`. */
  readonly run: (task: () => Promise<unknown>) => Promise<boolean>
  readonly fail: (message: string) => void
}

/** The state of one control that asks the server for something. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<string | undefined>(undefined)
  const run = useCallback(async (task: () => Promise<unknown>): Promise<boolean> => {
    setBusy(true)
    setFailure(undefined)
    try {
      await task()
      return true
    } catch (error) {
      setFailure(describe(error))
      return false
    } finally {
      setBusy(false)
    }
  }, [])
  return { isBusy, failure, run, fail: setFailure }
}

/** Why something failed, for people. */
export function describe(error: unknown): string {
  if (error instanceof InspectorRefusal) return `${refusalWords(error)} (${error.reason})`
  return error instanceof Error ? error.message : String(error)
}

/** Why a command was refused, for people. Who looks at a page knows of no tickets. */
export function refusalWords({
  reason,
  message,
}: {
  readonly reason: string
  readonly message: string
}): string {
  if (reason !== 'stale_ticket') return message
  return 'what you saw has changed or is gone; look at what waits now'
}

/** Does something that reports its own failures. */
export function start(task: Promise<unknown>): void {
  task.catch((error: unknown) => {
    // It is reported as any error of the page.
    queueMicrotask(() => {
      throw error
    })
  })
}

/** What is typed. It survives a reload, and is forgotten when it is sent. */
export function useDraft(key: string, initial = ''): readonly [string, (text: string) => void] {
  const name = `draft:${key}`
  const [text, setText] = useState(() => read(name) ?? initial)
  const set = useCallback(
    (next: string) => {
      setText(next)
      write(name, next === '' ? undefined : next)
    },
    [name],
  )
  return [text, set]
}

/** A value that the browser keeps while the tab is open. A browser that keeps nothing gives nothing. */
export function read(name: string): string | undefined {
  try {
    return sessionStorage.getItem(name) ?? undefined
  } catch {
    return undefined
  }
}

/** Keeps a value, or forgets it. */
export function write(name: string, value: string | undefined): void {
  try {
    if (value === undefined) sessionStorage.removeItem(name)
    else sessionStorage.setItem(name, value)
  } catch {
    // Private windows may keep nothing.
  }
}

/** Calls a listener for keys that are not typed into a field, and have no modifier. */
export function useKeys(listener: (key: string, event: KeyboardEvent) => boolean): void {
  const latest = useRef(listener)
  latest.current = listener
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
      if (document.querySelector('dialog[open]') !== null) return
      const target = event.target instanceof HTMLElement ? event.target : undefined
      const isField = target?.matches(
        'input:not([type=range]), textarea, select, [contenteditable]',
      )
      if (isField === true && event.key !== 'Escape') return
      if (latest.current(event.key, event)) event.preventDefault()
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}
