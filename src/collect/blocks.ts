import { appended, replaced } from './lists.ts'
import { defined } from '../types/guards.ts'
import type { JsonValue } from '../types/json.ts'
import type { Image } from '../types/media.ts'
import type { Part, ReasoningPart } from '../types/message.ts'

type BlockKind = 'text' | 'reasoning'

interface Block {
  readonly kind: BlockKind | 'image'
  readonly index: number | undefined
  readonly text: string
  readonly closed: boolean
  readonly opaque?: JsonValue | undefined
  readonly image?: Image
}

/**
 * The content blocks of a message under way, in the order in which they began.
 *
 * The block that grows is kept flat (`openKind`, `openIndex`, `openText`), so that a delta costs one string append.
 */
export interface Blocks {
  parked: readonly Block[]
  openKind: BlockKind | undefined
  openIndex: number | undefined
  openText: string
  /** The slot of the open block in `parked`. */
  openAt: number
}

/** Forgets all blocks. */
export function clearBlocks(blocks: Blocks): void {
  blocks.parked = none
  blocks.openKind = undefined
  blocks.openIndex = undefined
  blocks.openText = ''
  blocks.openAt = -1
}

const none: readonly Block[] = []

/** Appends a delta to its block: the open one, one that was left open earlier, or a new one. */
export function growBlock(
  blocks: Blocks,
  kind: BlockKind,
  index: number | undefined,
  delta: string,
): void {
  if (blocks.openKind !== kind || blocks.openIndex !== index) openBlock(blocks, kind, index)
  blocks.openText += delta
}

/** Closes a block with its whole text, which takes the place of what its deltas added up to. */
export function closeBlock(
  blocks: Blocks,
  kind: BlockKind,
  index: number | undefined,
  whole: { readonly text: string; readonly opaque?: JsonValue | undefined },
): void {
  if (blocks.openKind !== kind || blocks.openIndex !== index) openBlock(blocks, kind, index)
  blocks.openText = whole.text
  park(blocks, { closed: true, opaque: whole.opaque })
}

/** Adds a finished image. */
export function addImage(blocks: Blocks, image: Image): void {
  park(blocks, { closed: false })
  const block: Block = { kind: 'image', index: undefined, text: '', closed: true, image }
  blocks.parked = appended(blocks.parked, block)
}

/** The blocks as message parts. Empty ones are left out, save reasoning that has something to echo. */
export function toParts(blocks: Readonly<Blocks>, provider: string): readonly Part[] {
  const all = { ...blocks }
  park(all, { closed: false })
  const parts: Part[] = []
  for (const { kind, text, opaque, image } of all.parked) {
    if (image !== undefined) parts.push({ type: 'image', image })
    else if (kind === 'text' && text !== '') parts.push({ type: 'text', text })
    else if (kind === 'reasoning' && (text !== '' || opaque !== undefined)) {
      parts.push(defined<ReasoningPart>({ type: 'reasoning', text, opaque, provider }))
    }
  }
  return parts
}

function openBlock(blocks: Blocks, kind: BlockKind, index: number | undefined): void {
  park(blocks, { closed: false })
  const known = blocks.parked.findLastIndex(
    (block) => !block.closed && block.kind === kind && block.index === index,
  )
  blocks.openKind = kind
  blocks.openIndex = index
  if (known === -1) {
    blocks.openAt = blocks.parked.length
    blocks.openText = ''
    blocks.parked = appended(blocks.parked, { kind, index, text: '', closed: false })
  } else {
    blocks.openAt = known
    blocks.openText = blocks.parked[known]?.text ?? ''
  }
}

/** Writes the open block back to its slot. */
function park(blocks: Blocks, end: Pick<Block, 'closed' | 'opaque'>): void {
  const { openKind: kind, openIndex: index, openText: text, openAt } = blocks
  if (kind === undefined) return
  const { closed, opaque } = end
  blocks.parked = replaced(blocks.parked, openAt, { kind, index, text, closed, opaque })
  blocks.openKind = undefined
  blocks.openText = ''
  blocks.openAt = -1
}
