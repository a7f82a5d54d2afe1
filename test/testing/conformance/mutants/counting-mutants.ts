import { messageText, type Usage } from '../../../../src/index.ts'
import { broken, edit, events, type Change } from './mutant.ts'

/** Adapters that get reasoning or usage wrong. */
export const countingMutants = [
  broken(
    'reasoning comes whole, without deltas',
    'reasoning arrives as deltas that add up to it',
    events(edit('reasoning_delta', () => [])),
  ),
  broken(
    'reasoning is told as text',
    'reasoning is a part of the message, not of its text',
    events(
      edit('message_completed', (event) => {
        const { content } = event.message
        if (typeof content === 'string') return event
        const text = content.map((part) => ('text' in part ? part.text : part))
        return text.every((one) => typeof one === 'string')
          ? { ...event, message: { ...event.message, content: text.join('') } }
          : event
      }),
    ),
  ),
  broken(
    'usage is forgotten',
    'tokens are counted',
    usage((counts) => (Object.keys(counts).length === 2 ? {} : counts)),
  ),
  broken(
    'what was read from a cache is counted beside the input',
    'input includes what was read from a cache',
    usage((counts) => {
      const { inputTokens = 0, cachedInputTokens = 0, cacheWriteInputTokens } = counts
      if (cacheWriteInputTokens !== undefined) return counts
      return { ...counts, inputTokens: inputTokens - cachedInputTokens }
    }),
  ),
  broken(
    'what was written to a cache is counted beside the input',
    'input includes what was written to a cache',
    usage((counts) => {
      const { inputTokens = 0, cacheWriteInputTokens = 0 } = counts
      return { ...counts, inputTokens: inputTokens - cacheWriteInputTokens }
    }),
  ),
  broken(
    'reasoning is counted beside the output',
    'output includes what was spent on reasoning',
    usage((counts) => {
      const { outputTokens = 0, reasoningTokens = 0 } = counts
      return { ...counts, outputTokens: outputTokens - reasoningTokens }
    }),
  ),
  broken(
    'tokens that were not reported are guessed',
    'usage that the provider did not report is not made up',
    events(
      edit('message_completed', (event) =>
        event.usage === undefined
          ? {
              ...event,
              usage: { outputTokens: Math.ceil(messageText(event.message).length / 4) },
            }
          : event,
      ),
    ),
  ),
]

function usage(change: (counts: Usage) => Usage): Change {
  return events(
    edit('message_completed', (event) =>
      event.usage === undefined ? event : { ...event, usage: change(event.usage) },
    ),
  )
}
