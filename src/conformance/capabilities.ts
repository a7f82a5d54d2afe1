/** What a chat harness may declare, and what that claims. */
const chatCapabilities = {
  requests: 'the harness shows what was sent',
  connections: 'the harness counts open connections',
  several_calls: 'the harness plays one script after the other, one a call',
  chunking: 'the harness cuts the bytes of an answer anywhere',
  timeouts: 'requestTimeoutMs and streamTimeoutMs are kept, by options.clock',
  detailed_errors: 'a prompt that is filtered or too long is told from other refused requests',
  unsupported_feature:
    'a feature that the provider does not have is told from other refused requests',
  retry_after: 'a refusal says how long to wait',
  stream_failures: 'the provider reports failures inside a stream',
  stream_retry_after: 'a failure inside a stream says how long to wait',
  finish_reasons: 'length, content_filter and other are told from stop',
  text_blocks: 'two blocks of text stay two',
  tools: 'the model calls tools',
  parallel_tools: 'the model calls several tools in one answer',
  streamed_tools: 'the arguments of a call arrive in pieces',
  interleaved_tools: 'the pieces of several calls arrive in turn',
  raw_arguments: 'arguments that are no JSON arrive as they were written',
  reasoning: 'the model thinks aloud',
  reasoning_echo: 'reasoning goes back to the provider that it came from, and to no other',
  usage: 'tokens are counted',
  cached_usage: 'tokens that were read from a cache are counted',
  cache_write_usage: 'tokens that were written to a cache are counted',
  reasoning_usage: 'tokens that were spent on reasoning are counted',
  raw_chunks: 'what the provider sent is shown as it came',
  images: 'the model makes images',
} as const

/** One of the things that a chat harness may declare. */
export type ChatCapability = keyof typeof chatCapabilities

/** What an image harness may declare, and what that claims. */
const imageCapabilities = {
  requests: 'the harness shows what was sent',
  generate: 'new images are made',
  edit: 'images are changed',
  variation: 'images like one are made',
  error_origin: 'a failure names its provider and its run',
  several_images: 'one call gives several images',
  retry_after: 'a refusal says how long to wait',
  detailed_errors: 'a prompt that is filtered or too long is told from other refused requests',
} as const

/** One of the things that an image harness may declare. */
export type ImageCapability = keyof typeof imageCapabilities

/** What the harness of an encoder may declare, and what that claims. */
const encoderCapabilities = {
  plain_text: 'strings are written as they are',
  json: 'everything else is written as JSON',
} as const

/** One of the things that the harness of an encoder may declare. */
export type EncoderCapability = keyof typeof encoderCapabilities

/** What the harness of a session store may declare, and what that claims. */
const storeCapabilities = {
  durable: 'another store on the same place finds what was saved',
  damage: 'the harness can make what was saved unreadable',
  interruption: 'the harness can interrupt a save in the middle of its write',
} as const

/** One of the things that the harness of a session store may declare. */
export type StoreCapability = keyof typeof storeCapabilities

/** Every capability of every kind of harness, with its sentence. */
export const everyCapability: Readonly<Record<string, string>> = {
  ...chatCapabilities,
  ...imageCapabilities,
  ...encoderCapabilities,
  ...storeCapabilities,
}
