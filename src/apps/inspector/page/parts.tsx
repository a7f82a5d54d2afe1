import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Image, MediaFile } from '../../../core/types/media.ts'
import type { SessionItem } from '../api.ts'
import { count, statusWords } from './format.ts'
import { start, type Action } from './hooks.ts'
import { clipped, firstLine, safeImage, safeLink, shownLength, visiblePieces } from './hostile.ts'

/** Text from anywhere: nothing in it is markup, what would be invisible is shown, and a long one is cut. */
export function Text({ text, length }: { text: string; length?: number }): JSX.Element {
  const [limit, setLimit] = useState(length ?? shownLength)
  const { shown, rest } = clipped(text, limit)
  return (
    <>
      {visiblePieces(shown).map((piece) =>
        typeof piece === 'string' ? (
          piece
        ) : (
          <span class="unseen" title={piece.name} role="img" aria-label={piece.name}>
            {piece.sign}
          </span>
        ),
      )}
      {rest > 0 && (
        <button
          type="button"
          class="more"
          onClick={(event) => {
            event.stopPropagation()
            setLimit((now) => Math.max(20_000, now * 8))
          }}
        >
          show more ({count(rest)} characters)
        </button>
      )}
    </>
  )
}

/** An address. Only http and https can be clicked, and the whole address is shown. */
export function Address({ address }: { address: string }): JSX.Element {
  const link = safeLink(address)
  if (link === undefined) {
    return (
      <code class="address">
        <Text text={address} length={400} />
      </code>
    )
  }
  return (
    <a class="address" href={link} target="_blank" rel="noopener noreferrer">
      <Text text={link} />
    </a>
  )
}

/** An image that has its bytes with it. Any other is an address, and nothing is fetched. */
export function Picture({ image }: { image: Image | MediaFile }): JSX.Element {
  const source = safeImage(image)
  if (source !== undefined)
    return <img class="picture" src={source} alt="An image of the conversation" />
  switch (image.type) {
    case 'url':
      return <Address address={image.url} />
    case 'id':
      return <code>{firstLine(`${image.provider}: ${image.id}`, 120)}</code>
    case 'base64':
      return (
        <code>{`${firstLine(image.mimeType, 60)}, ${count(Math.floor(image.base64.length * 0.75))} bytes`}</code>
      )
  }
}

/** A word about something, with a tone. */
export function Badge({
  tone,
  children,
}: {
  tone: string
  children: ComponentChildren
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** The name of the engine that gave an answer. */
export function Speaker({ name }: { name: string }): JSX.Element {
  return (
    <span class="speaker">
      <Text text={name} length={100} />
    </span>
  )
}

/** The status of a session: a sign and a word. */
export function StatusBadge({
  item: { status, running, queued },
}: {
  item: Pick<SessionItem, 'status' | 'running' | 'queued'>
}): JSX.Element {
  if (queued === true) {
    return (
      <span class="badge quiet" title="there is something to do, and no worker has taken it yet">
        <span aria-hidden="true">◷</span> queued
      </span>
    )
  }
  if (running) {
    return (
      <span class="badge model running">
        <span class="pulse" aria-hidden="true" />
        running
      </span>
    )
  }
  const { label, sign, tone } = statusWords[status]
  return (
    <span class={`badge ${tone}`}>
      <span aria-hidden="true">{sign}</span> {label}
    </span>
  )
}

/** Copies a text. */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  text: () => string
  label?: string
}): JSX.Element {
  const [word, setWord] = useState(label)
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text())
      setWord('Copied')
    } catch {
      setWord('The browser refused')
    }
    setTimeout(() => setWord(label), 1500)
  }
  return (
    <button type="button" class="small" onClick={() => start(copy())}>
      {word}
    </button>
  )
}

/** Why a control was refused, beside it. */
export function Failure({ action }: { action: Pick<Action, 'failure'> }): JSX.Element | null {
  if (action.failure === undefined) return null
  return (
    <p class="failure" role="alert">
      <span aria-hidden="true">×</span> <Text text={action.failure} />
    </p>
  )
}

/** One of several panels, by its tab. */
export interface TabItem {
  readonly id: string
  readonly label: string
  readonly count?: number | undefined
}

/** A row of tabs: arrows move, as everywhere. */
export function Tabs({
  label,
  items,
  selected,
  onSelect,
}: {
  label: string
  items: readonly TabItem[]
  selected: string
  onSelect: (id: string) => void
}): JSX.Element {
  const list = useRef<HTMLDivElement>(null)
  const move = (by: number): void => {
    const at = items.findIndex(({ id }) => id === selected)
    const next = items[(at + by + items.length) % items.length]
    if (next === undefined) return
    onSelect(next.id)
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>('[aria-selected=true]')?.focus(),
    )
  }
  return (
    <div
      class="tabs"
      role="tablist"
      aria-label={label}
      ref={list}
      onKeyDown={(event) => {
        if (event.key === 'ArrowRight') move(1)
        else if (event.key === 'ArrowLeft') move(-1)
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
    >
      {items.map(({ id, label: name, count: number }) => (
        <button
          key={id}
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={id === selected}
          aria-controls={`panel-${id}`}
          tabIndex={id === selected ? 0 : -1}
          onClick={() => onSelect(id)}
        >
          {name}
          {number !== undefined && number > 0 && (
            <>
              {' '}
              <span class="count">{count(number)}</span>
            </>
          )}
        </button>
      ))}
    </div>
  )
}

/** A dialog over the page. Esc closes it, and the focus goes back to where it was. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const { current } = dialog
    const before = document.activeElement
    if (current !== null && !current.open) {
      current.showModal()
      // A form is begun, and not left.
      const first =
        current.querySelector<HTMLElement>('[autofocus]') ??
        current.querySelector<HTMLElement>('form input:checked')
      first?.focus()
    }
    return () => {
      current?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" onClick={onClose} aria-label="Close">
          ×
        </button>
      </header>
      {children}
    </dialog>
  )
}
