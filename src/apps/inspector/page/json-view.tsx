import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { plural } from './format.ts'
import { Text } from './parts.tsx'

/** The most members that are drawn before "show more". */
const shownMembers = 100

/** A JSON value. What is folded is not drawn, so a huge value costs as much as what is open of it. */
export function JsonView({ value, open = 2 }: { value: unknown; open?: number }): JSX.Element {
  return (
    <div class="json">
      <Node value={value} depth={0} open={isSmall(value) ? 6 : open} />
    </div>
  )
}

function Node({
  name,
  value,
  depth,
  open,
}: {
  name?: string
  value: unknown
  depth: number
  open: number
}): JSX.Element {
  const [isOpen, setOpen] = useState(depth < open)
  const [limit, setLimit] = useState(shownMembers)
  const label = name === undefined ? null : <Key name={name} />
  if (typeof value !== 'object' || value === null) {
    return (
      <div class="node">
        {label}
        <Scalar value={value} />
      </div>
    )
  }
  const isList = Array.isArray(value)
  // Its own members: a value of JSON has no others.
  const keys = Object.keys(value)
  const members = value as Readonly<Record<string, unknown>>
  if (keys.length === 0) {
    return (
      <div class="node">
        {label}
        <span class="sign">{isList ? '[]' : '{}'}</span>
      </div>
    )
  }
  const size = plural(keys.length, isList ? 'item' : 'member')
  return (
    <div class="node">
      <button
        type="button"
        class="fold"
        aria-expanded={isOpen}
        onClick={(event) => {
          event.stopPropagation()
          setOpen(!isOpen)
        }}
      >
        <span class="caret" aria-hidden="true">
          {isOpen ? '▾' : '▸'}
        </span>
        {label}
        <span class="sign">{isList ? '[' : '{'}</span>
        {!isOpen && <span class="size"> {size} </span>}
        {!isOpen && <span class="sign">{isList ? ']' : '}'}</span>}
      </button>
      {isOpen && (
        <div class="members">
          {keys.slice(0, limit).map((key) => (
            <Node
              key={key}
              {...(isList ? {} : { name: key })}
              value={members[key]}
              depth={depth + 1}
              open={open}
            />
          ))}
          {keys.length > limit && (
            <button type="button" class="more" onClick={() => setLimit(limit * 5)}>
              show more ({keys.length - limit})
            </button>
          )}
        </div>
      )}
      {isOpen && <span class="sign">{isList ? ']' : '}'}</span>}
    </div>
  )
}

function Key({ name }: { name: string }): JSX.Element {
  return (
    <span class="key">
      <Text text={name} length={200} />
      <span class="sign">: </span>
    </span>
  )
}

function Scalar({ value }: { value: unknown }): JSX.Element {
  if (typeof value === 'string') {
    return (
      <span class="string">
        "<Text text={value} length={1000} />"
      </span>
    )
  }
  return <span class={typeof value === 'number' ? 'number' : 'word'}>{String(value)}</span>
}

/** Whether a value is small enough to be shown open. It stops counting early. */
function isSmall(value: unknown): boolean {
  let room = 60
  const visit = (one: unknown): void => {
    if (room < 0 || typeof one !== 'object' || one === null) return
    const members = one as Readonly<Record<string, unknown>>
    for (const key in members) {
      if (--room < 0) return
      visit(members[key])
    }
  }
  visit(value)
  return room >= 0
}
