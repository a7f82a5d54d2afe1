import { messageText, type Message } from '../../../core/types/message.ts'
import { finishWords } from '../finish-words.ts'

/** A stretch of text that both sides have, or only one of them. */
export interface DiffPiece {
  readonly type: 'same' | 'removed' | 'added'
  readonly text: string
}

/** The most words that are compared one by one: the work grows with their product. Longer middles differ as a whole. */
const mostWords = 1500

/** The words that two texts have in common, and those that only one has. Joined, each side gives its text. */
export function wordDiff(left: string, right: string): readonly DiffPiece[] {
  const a = words(left)
  const b = words(right)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  ) {
    tail++
  }
  const pieces: DiffPiece[] = []
  const push = (type: DiffPiece['type'], list: readonly string[]): void => {
    const text = list.join('')
    if (text === '') return
    const last = pieces.at(-1)
    if (last?.type === type) pieces[pieces.length - 1] = { type, text: last.text + text }
    else pieces.push({ type, text })
  }
  push('same', a.slice(0, head))
  for (const { type, item } of middleDiff(
    a.slice(head, a.length - tail),
    b.slice(head, b.length - tail),
  )) {
    push(type, [item])
  }
  push('same', a.slice(a.length - tail))
  return isAlike(pieces) ? pieces : whole(left, right)
}

/** The part of the longer text that both must share. Below it, single words that happen to be equal only disturb. */
const leastShared = 0.2

function isAlike(pieces: readonly DiffPiece[]): boolean {
  const lengths = { same: 0, removed: 0, added: 0 }
  for (const { type, text } of pieces) lengths[type] += text.length
  const { same, removed, added } = lengths
  return same >= leastShared * (same + Math.max(removed, added))
}

function whole(left: string, right: string): readonly DiffPiece[] {
  const removed: DiffPiece = { type: 'removed', text: left }
  const added: DiffPiece = { type: 'added', text: right }
  return [removed, added].filter(({ text }) => text !== '')
}

/** Words with the space after them, and signs by themselves. */
function words(text: string): readonly string[] {
  return text.match(/[\p{L}\p{N}_]+\s*|[^\p{L}\p{N}_]\s*/gsu) ?? []
}

interface DiffStep {
  readonly type: DiffPiece['type']
  readonly item: string
}

function middleDiff(a: readonly string[], b: readonly string[]): readonly DiffStep[] {
  const removed = a.map((item) => ({ type: 'removed', item }) as const)
  const added = b.map((item) => ({ type: 'added', item }) as const)
  if (a.length === 0 || b.length === 0 || a.length > mostWords || b.length > mostWords) {
    return [...removed, ...added]
  }
  const steps: DiffStep[] = []
  let left = 0
  let right = 0
  for (const [i, j] of commonPlaces(a, b, (x, y) => x === y)) {
    steps.push(...removed.slice(left, i), ...added.slice(right, j))
    steps.push({ type: 'same', item: a[i] ?? '' })
    left = i + 1
    right = j + 1
  }
  return [...steps, ...removed.slice(left), ...added.slice(right)]
}

/** The places of a longest common subsequence, in order. */
function commonPlaces<Item>(
  a: readonly Item[],
  b: readonly Item[],
  same: (left: Item, right: Item) => boolean,
): readonly (readonly [number, number])[] {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => lengths[i * width + j] ?? 0
  const equal = (i: number, j: number): boolean => {
    const [x, y] = [a[i], b[j]]
    return x !== undefined && y !== undefined && same(x, y)
  }
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = equal(i, j)
        ? at(i + 1, j + 1) + 1
        : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const places: (readonly [number, number])[] = []
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (equal(i, j)) places.push([i++, j++])
    else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return places
}

/** A message of one run beside the one of another that stands in its place. */
export interface AlignedPair {
  readonly left?: Message
  readonly right?: Message
  /** Whether both are there and say the same. */
  readonly isSame: boolean
}

/**
 * The messages of two runs side by side. Equal messages stand beside each other; between them, messages of the same role are paired in
 * their order, and what has no partner stands alone.
 */
export function alignMessages(
  left: readonly Message[],
  right: readonly Message[],
): readonly AlignedPair[] {
  const a = left.map(signature)
  const b = right.map(signature)
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  const pairs: AlignedPair[] = left
    .slice(0, head)
    .map((message, index) => pairOf(message, right[index], true))
  const rest = { left: left.slice(head), right: right.slice(head) }
  const places =
    rest.left.length > mostWords || rest.right.length > mostWords
      ? []
      : commonPlaces(a.slice(head), b.slice(head), (x, y) => x === y)
  let i = 0
  let j = 0
  for (const [x, y] of places) {
    pairs.push(...byRole(rest.left.slice(i, x), rest.right.slice(j, y)))
    pairs.push(pairOf(rest.left[x], rest.right[y], true))
    i = x + 1
    j = y + 1
  }
  return [...pairs, ...byRole(rest.left.slice(i), rest.right.slice(j))]
}

function pairOf(
  left: Message | undefined,
  right: Message | undefined,
  isSame: boolean,
): AlignedPair {
  return { ...(left && { left }), ...(right && { right }), isSame }
}

/** Pairs messages between two equal ones. */
function byRole(left: readonly Message[], right: readonly Message[]): readonly AlignedPair[] {
  const pairs: AlignedPair[] = []
  let j = 0
  for (const message of left) {
    const partner = right.findIndex((other, at) => at >= j && other.role === message.role)
    if (partner === -1) pairs.push({ left: message, isSame: false })
    else {
      pairs.push(...right.slice(j, partner).map((other) => ({ right: other, isSame: false })))
      pairs.push(pairOf(message, right[partner], false))
      j = partner + 1
    }
  }
  return [...pairs, ...right.slice(j).map((other) => ({ right: other, isSame: false }))]
}

/** What makes two messages equal to a reader: times and ids of calls may differ. */
function signature(message: Message): string {
  const { role, content, toolCalls = [], finishReason, agent, metadata } = message
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const calls = toolCalls.map(({ name, arguments: args }) => [name, args])
  const marks = ['denied', 'isError', 'interrupted', 'partial'].filter(
    (key) => metadata?.[key] !== undefined,
  )
  return JSON.stringify([role, text, calls, marks, finishReason, agent])
}

/** What is compared of a message, as text. */
export function comparedText(message: Message): string {
  const calls = (message.toolCalls ?? []).map(
    ({ name, arguments: args }) => `${name}(${JSON.stringify(args)})`,
  )
  const { finishReason } = message
  const reason = finishReason === undefined ? '' : `(${finishWords[finishReason]})`
  return [messageText(message), ...calls, reason].filter((text) => text !== '').join('\n')
}
