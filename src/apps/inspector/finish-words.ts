import type { Message } from '../../core/types/message.ts'

/** Why an answer ended that did not end by itself, in the words of the page and of the program. */
export const finishWords: Readonly<Record<NonNullable<Message['finishReason']>, string>> = {
  length: 'cut at the length limit',
  content_filter: 'filtered',
  error: 'ended with an error',
  other: 'ended for another reason',
}
