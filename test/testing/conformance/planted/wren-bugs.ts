import type { Bugs } from './species.ts'

/** Bugs of `wren.ts`, by the case that has to find them: each changes a few characters of its text. */
export const wrenBugs: Bugs = {
  'all reasoning of an answer goes back, in its place': {
    'reasoning is trimmed': [
      [
        "    if (kind === 'musing') song.emit({ type: 'reasoning_delta', delta: line.add, index: at })",
        "    if (kind === 'musing') song.emit({ type: 'reasoning_delta', delta: (block.text = block.text.trim()), index: at })",
      ],
    ],
  },
  'every character of a text is sent as it is': {
    'lines end in one way': [
      ['[{ words: part.text }]', "[{ words: part.text.replaceAll('\\r\\n', '\\n') }]"],
    ],
  },
  'media that a message has is sent, or the call is refused': {
    'images by URL are left out': [
      [
        "      throw new AdapterError('unsupported_feature', 'wren takes images as bytes only')",
        '      return []',
      ],
    ],
    'images in results are left out': [["if (type !== 'text')", 'if (type === undefined)']],
  },
  'many calls of one answer arrive, each as it was made': {
    'no more than five calls are read': [
      [
        '  if (line.open !== undefined) {',
        '  if (line.open !== undefined && song.blocks.size < 5) {',
      ],
    ],
  },
  'raw chunks are what the provider sent, and come once': {
    'raw chunks come twice': [
      [
        '  song.raw({ ...line } as JsonObject)',
        '  song.raw({ ...line } as JsonObject)\n  song.raw({ ...line } as JsonObject)',
      ],
    ],
  },
  'streams of different shapes at once do not mix': {
    'calls share their blocks': [
      ['    blocks: new Map<number, Block>(),', '    blocks: sharedBlocks,'],
      [
        'type Own = Parameters<typeof wren>[0]',
        'const sharedBlocks = new Map<number, Block>()\ntype Own = Parameters<typeof wren>[0]',
      ],
    ],
  },
  'a failure in the middle says whether another attempt may succeed, and invents no wait': {
    'a wait of 0 is invented': [
      [
        'const details = wait === undefined ? call : { ...call, retryAfterMs: wait * 1000 }',
        'const details = { ...call, retryAfterMs: (wait ?? 0) * 1000 }',
      ],
    ],
    'no failure in the middle is tried again': [
      [
        'const details = wait === undefined ? call : { ...call, retryAfterMs: wait * 1000 }',
        'const details = { ...call, retryable: false, ...(wait === undefined ? {} : { retryAfterMs: wait * 1000 }) }',
      ],
    ],
  },
  'an engine gets its answers from the adapter': {
    'headers that nobody gave are read': [
      [
        "headers: { 'x-wren-token': token, ...options.headers },",
        "headers: { 'x-wren-token': token, ...('headers' in options ? Object.fromEntries(Object.entries(options.headers)) : {}) },",
      ],
    ],
  },
  'a call arrives with its id, its name and its arguments': {
    'a call is completed when it is opened': [
      [
        "      song.emit({ type: 'tool_call_started', id: block.ref, name: block.skill })",
        "      (song.emit({ type: 'tool_call_started', id: block.ref, name: block.skill }), song.emit({ type: 'tool_call_completed', call: { id: block.ref, name: block.skill, arguments: {} } }))",
      ],
    ],
    'a name has a prefix': [
      ["skill: line.skill ?? '', text", "skill: `functions.${line.skill ?? ''}`, text"],
    ],
  },
  'a call gets nothing of the answers before it': {
    'blocks are shared by all calls': [
      ['    blocks: new Map<number, Block>(),', '    blocks: allBlocks,'],
      ['interface Block {', 'const allBlocks = new Map<number, Block>()\ninterface Block {'],
    ],
  },
  'a call sends nothing of the call before it': {
    'the history of the last call goes along': [
      [
        'type Own = Parameters<typeof wren>[0]',
        'let last: JsonObject[] = []\ntype Own = Parameters<typeof wren>[0]',
      ],
      ['    turns,\n', '    turns: [...last, ...(last = turns)],\n'],
    ],
  },
  'a call that fails with malformed_response before its first event rejects with it': {
    'a page is an answer': [
      [
        "    if (type !== 'application/x-ndjson' || response.body === null)\n      throw new AdapterError('malformed_response', `wren answered with ${type}`, call)\n",
        "    if (response.body === null) throw new TypeError('no body')\n    if (type === 'text/html') return linesOf(response.body, () => undefined)\n",
      ],
    ],
  },
  'a call that fails with rate_limited before its first event rejects with it': {
    'a fast caller is a bad one': [["  461: 'rate_limited',", "  461: 'invalid_request',"]],
    'statuses are the usual ones': [["  461: 'rate_limited',", "  429: 'rate_limited',"]],
  },
  'a call that is over leaves no timer and no listener behind': {
    'the listener stays': [["    signal?.removeEventListener('abort', onAbort)\n", '']],
    'an interval runs on': [
      ['  let isOver = false\n', '  let isOver = false\n  setInterval(() => undefined, 1000)\n'],
    ],
  },
  'a call without options is legal and gets an id of its own': {
    'a call needs a clock': [
      [
        '    if (ms === undefined || clock === undefined) return',
        "    if (clock === undefined) throw new TypeError('no clock')\n    if (ms === undefined) return",
      ],
    ],
  },
  'a count that the provider did not report is not made up': {
    'counts of none are zero': [
      [
        '...(mused === undefined ? {} : { reasoningTokens: mused }),',
        'reasoningTokens: mused ?? 0,',
      ],
    ],
  },
  'a failure in the middle says how long to wait': {
    'seconds are milliseconds': [
      ['retryAfterMs: wait * 1000 }\n    throw', 'retryAfterMs: wait }\n    throw'],
    ],
  },
  'a failure that the provider reports in the middle is the last event': {
    'a failure is the end of the answer': [
      [
        "throw new AdapterError(troubles[code] ?? 'unknown', hide(note), details)",
        "return void end(song, 'failed')",
      ],
    ],
    'a failure is of another provider': [
      [
        '    const details = wait === undefined ? call :',
        "    const details = wait === undefined ? { ...call, provider: 'bird' } :",
      ],
    ],
    'a failure has a reason of its own': [
      [
        "throw new AdapterError(troubles[code] ?? 'unknown', hide(note), details)",
        'throw new AdapterError(code as AdapterErrorReason, hide(note), details)',
      ],
    ],
    'what was said before a failure is lost': [
      ["value: [...before, { type: 'error'", "value: [...before.slice(99), { type: 'error'"],
    ],
  },
  'a key of any form that the provider repeats is in nothing that leaves the adapter': {
    'the token is in the notes of failures': [
      [
        "const hide = (text: string): string => text.split(token).join('***')",
        "const hide = (text: string): string => text.split(own.token).join('***')",
      ],
    ],
    'the token is in the metadata of an error': [
      [
        'return new AdapterError(reason, hide(note), details)',
        'return new AdapterError(reason, hide(note), { ...details, metadata: { answer: note } })',
      ],
    ],
    'the token is hidden in refusals only': [
      [
        "throw new AdapterError(troubles[code] ?? 'unknown', hide(note), details)",
        "throw new AdapterError(troubles[code] ?? 'unknown', note, details)",
      ],
    ],
  },
  'a redirect is not followed': {
    'a redirect is followed': [["      redirect: 'manual',\n", "      redirect: 'follow',\n"]],
  },
  'a refusal has the status of its answer': {
    'the status of a refusal is 200': [
      ['const details = { ...call, status,', 'const details = { ...call, status: 200,'],
    ],
  },
  'a refusal says how long to wait': {
    'waits of refusals are lost': [
      [
        ', ...(wait === undefined ? {} : { retryAfterMs: wait * 1000 }) }\n  return',
        ' }\n  return',
      ],
    ],
  },
  'a refused call is not tried again': {
    'a call that is refused is tried three times': [
      [
        '    if (response.status !== 200) throw',
        "    for (let again = 0; again < 2 && response.status >= 500; again++) await own.fetch('https://wren.example/speak', { method: 'POST', headers: {}, body, redirect: 'manual', signal: connection.signal })\n    if (response.status !== 200) throw",
      ],
    ],
  },
  'a setting is sent as it is given': {
    'heat is a percentage': [
      ['{ heat: request.temperature }', '{ heat: request.temperature * 100 }'],
    ],
    'share and most are swapped': [['{ share: request.topP }', '{ most: request.topP }']],
    'length is one less': [['{ length: request.maxTokens }', '{ length: request.maxTokens - 1 }']],
    'until is reversed': [
      ['{ until: request.stopSequences }', '{ until: request.stopSequences.toReversed() }'],
    ],
    'a length limit turns off the heat': [
      [
        '    ...(request.maxTokens === undefined ? {} : { length: request.maxTokens }),',
        '    ...(request.maxTokens === undefined ? {} : { length: request.maxTokens, heat: 0 }),',
      ],
    ],
    'never is maybe': [["none: 'never'", "none: 'maybe'"]],
    'any JSON is words': [
      [
        "format.type === 'json_object' ? 'json' : 'words'",
        "format.type === 'json_object' ? 'words' : 'words'",
      ],
    ],
    'a schema loses its descriptions': [
      [
        'like: format.schema }',
        "like: JSON.parse(JSON.stringify(format.schema, (key, value) => (key === 'description' ? undefined : value))) }",
      ],
    ],
    'low and high are the same': [
      ['{ muse: request.reasoning.effort }', "{ muse: request.reasoning.effort !== 'none' }"],
    ],
  },
  'a setting that is not sent is named in warnings': {
    'promptCache is dropped without a word': [["    'promptCache',\n", '']],
    'a heat of 0 is none': [
      [
        '...(request.temperature === undefined ? {} : { heat: request.temperature }),',
        '...(request.temperature ? { heat: request.temperature } : {}),',
      ],
    ],
    'most is dropped': [
      ['    ...(request.topK === undefined ? {} : { most: request.topK }),\n', ''],
    ],
    'a seed is dropped without a word': [["    'seed',\n", '']],
    'warnings are not told': [
      ['const told = warnings.length === 0 ? {} : { warnings: [...warnings] }', 'const told = {}'],
    ],
  },
  'a setting that the request does not have is not sent': {
    'dials are always sent with a heat': [
      [
        '    ...(request.temperature === undefined ? {} : { heat: request.temperature }),',
        '    heat: request.temperature ?? 0.7,',
      ],
    ],
  },
  'a silence beyond streamTimeoutMs ends the stream with the error timeout': {
    'a silence is never too long': [['      if (song.begun) wait(options.streamTimeoutMs)\n', '']],
  },
  'a slow stream that is never silent for long is not cut': {
    'the whole answer has one limit': [
      [
        '      if (song.begun) wait(options.streamTimeoutMs)',
        '      if (song.begun && song.blocks.size === 1 && !timed) { timed = true; wait(options.streamTimeoutMs) }',
      ],
      ['  let isOver = false\n', '  let isOver = false\n  let timed = false\n'],
    ],
  },
  'a stream that has ended leaves no timer behind': {
    'a timer stays': [['    isOver = true\n    waiting.abort()\n', '    isOver = true\n']],
  },
  'a stream that is left before it is read sends nothing': {
    'leaving begins what was not begun': [
      [
        '  const leave = async (): Promise<IteratorResult<Batch, undefined>> => {\n',
        '  const leave = async (): Promise<IteratorResult<Batch, undefined>> => {\n    lines ??= await begin()\n',
      ],
    ],
  },
  'a stream that is left closes its connection': {
    'leaving does nothing': [
      [
        '  const leave = async (): Promise<IteratorResult<Batch, undefined>> => {\n    await close()\n',
        '  const leave = async (): Promise<IteratorResult<Batch, undefined>> => {\n',
      ],
    ],
  },
  'an abort after the end changes nothing': {
    'an abort after the end is rejected': [
      ["    signal?.removeEventListener('abort', onAbort)\n", ''],
      [
        '  const onAbort = (): void =>\n    connection.abort(',
        "  const onAbort = (): void =>\n    isOver ? void Promise.reject(new Error('it is over')) : connection.abort(",
      ],
    ],
  },
  'an abort before the first event rejects with cancelled': {
    'an abort is an AbortError': [
      [
        '  if (connection.aborted) return isAllmError(connection.reason) ? connection.reason : undefined',
        "  if (connection.aborted && isAllmError(connection.reason) && connection.reason.reason === 'cancelled' && !begun) throw new DOMException('This operation was aborted', 'AbortError')\n  if (connection.aborted) return isAllmError(connection.reason) ? connection.reason : undefined",
      ],
    ],
  },
  'an abort in the middle ends the stream with the error cancelled': {
    'an abort in the middle is thrown': [
      [
        '      if (!song.begun) throw failure\n',
        "      if (!song.begun || failure.reason === 'cancelled') throw failure\n",
      ],
    ],
    'an abort is a timeout': [
      [
        "new StreamError('cancelled', 'stopped by the caller', call)",
        "new StreamError('timeout', 'stopped by the caller', call)",
      ],
    ],
  },
  'an answer is over when the provider says so, though the connection stays open': {
    'the end waits for the last byte': [
      ['        if (song.ended) break\n', ''],
      [
        '      if (song.ended) await close()\n',
        '      while (song.ended && !(await lines.next()).done);\n      if (song.ended) await close()\n',
      ],
    ],
    'the connection is not closed at the end': [
      ['    connection.abort()\n    await lines?.return(undefined).catch(() => undefined)\n', ''],
    ],
  },
  'an answer that ends in a way of its own finishes with other': {
    'the raw word is ours': [['    rawFinishReason: word,', '    rawFinishReason: finishReason,']],
  },
  'an answer that was cut off for its length finishes with length': {
    'a full answer is other': [["  full: 'length',\n", '']],
  },
  'an answer that was filtered finishes with content_filter': {
    'a hushed answer is stop': [["  hushed: 'content_filter',", "  hushed: 'stop',"]],
  },
  'an answer whose body ends early is truncated, never complete': {
    'the end of the lines is the end': [
      [
        "      if (done === true) throw new StreamError('truncated', 'wren stopped in the middle', call)",
        "      if (done === true) {\n        end(song, 'done')\n        await close()\n        return song.take()\n      }",
      ],
    ],
  },
  'an answer whose connection breaks is truncated, never complete': {
    'a dead line is a success': [
      [
        "  if (begun) return new StreamError('truncated', 'the line went dead', call)",
        '  if (begun) return undefined',
      ],
    ],
  },
  'an answer with calls finishes with tool_calls': {
    'an answer with calls is stop': [
      [
        "toolCalls.length > 0 && word === 'done' ? 'tool_calls' : (ends[word] ?? 'other')",
        "ends[word] ?? 'other'",
      ],
    ],
  },
  'an answer without text is an answer': {
    'after the end comes the end again': [
      [
        '    if (isOver) return { done: true, value: undefined }\n',
        '    if (isOver && !song.begun) return { done: true, value: undefined }\n    if (isOver) return song.blocks.delete(0) ? { done: true, value: undefined } : { done: false, value: [] }\n',
      ],
    ],
  },
  'an error event is plain data and names its provider and its run': {
    'the error of the platform is in the event': [
      [
        'error: failure.toJSON() }] }',
        'error: { ...failure.toJSON(), cause: error as JsonValue } }] }',
      ],
    ],
  },
  'an event that cannot be read is malformed_event': {
    'an unreadable line is left out': [
      [
        '        read(JSON.parse(line) as Line, song, call, hide)\n',
        "        if (!line.endsWith('}')) continue\n        read(JSON.parse(line) as Line, song, call, hide)\n",
      ],
    ],
    'an unreadable line is an unknown failure': [
      [
        "    return new StreamError('malformed_event', 'a line of wren is not JSON', call)",
        "    return new StreamError('unknown', 'a line of wren is not JSON', call)",
      ],
    ],
  },
  'an image that the model makes arrives with its bytes': {
    'pictures have another type': [
      ['      mimeType: line.picture.kind,', "      mimeType: 'image/webp',"],
    ],
  },
  'characters that the bytes are cut through arrive whole': {
    'characters are cut': [['decoder.decode(value, { stream: true })', 'decoder.decode(value)']],
  },
  'events are plain JSON': {
    'warnings are undefined when there are none': [
      [
        'const told = warnings.length === 0 ? {} : { warnings: [...warnings] }',
        'const told = { warnings: warnings.length === 0 ? undefined : [...warnings] } as object',
      ],
    ],
  },
  'every message is sent, in its order': {
    'the rules are dropped': [['    ...(rules.length === 0 ? {} : { rules }),\n', '']],
    'the rules are sent twice': [['{ rules }', '{ rules: [...rules, ...rules] }']],
    'turns are sorted by who speaks': [
      [
        ".filter(({ role }) => role !== 'system').map(turnOf)",
        ".filter(({ role }) => role !== 'system').toSorted((a, b) => a.role.localeCompare(b.role)).map(turnOf)",
      ],
    ],
  },
  'headers and then silence end with a timeout or an abort': {
    'the headers are the first content': [
      [
        "    const type = response.headers.get('content-type')\n",
        "    const type = response.headers.get('content-type')\n    wait(undefined)\n",
      ],
    ],
  },
  'images of a message are sent': {
    'pictures come without their bytes': [
      [
        '`data:${part.image.mimeType};base64,${part.image.base64}`',
        '`data:${part.image.mimeType};base64,`',
      ],
    ],
    'pictures are sent twice': [
      ['return [{ picture: `data:', 'return [{ thumbnail: part.image.base64 }, { picture: `data:'],
    ],
    'pictures have no type': [['`data:${part.image.mimeType};base64,', '`data:;base64,']],
  },
  'input includes what was read from a cache': {
    'what was reused is not added': [
      ['fresh + (reused ?? 0) + (stored ?? 0)', 'fresh + (stored ?? 0)'],
    ],
  },
  'input includes what was written to a cache': {
    'what was stored is not added': [
      ['fresh + (reused ?? 0) + (stored ?? 0)', 'fresh + (reused ?? 0)'],
    ],
  },
  'message_completed says what the deltas said': {
    'message_completed has the role of the user': [
      ["message: { role: 'assistant', content", "message: { role: 'user', content"],
    ],
  },
  'messages are sent in the role of their author': {
    'everybody is a person': [["who: role === 'assistant' ? 'wren' : 'person',", "who: 'person',"]],
    'the last person is wren': [
      [
        "const turns = request.messages.filter(({ role }) => role !== 'system').map(turnOf)",
        "const turns = request.messages.filter(({ role }) => role !== 'system').map(turnOf)\n  if (turns.length > 1) turns[turns.length - 1] = { ...turns[turns.length - 1], who: 'wren' }",
      ],
    ],
  },
  'no rejection is left unhandled': {
    'a failed call rejects twice': [
      [
        '      await close()\n      if (failure',
        '      await close()\n      void Promise.reject(failure)\n      if (failure',
      ],
    ],
  },
  'nothing is written to the console': {
    'a line is written to the console': [
      [
        '    wait(options.requestTimeoutMs)\n',
        "    wait(options.requestTimeoutMs)\n    console.log('POST /speak')\n",
      ],
    ],
  },
  'onActivity is called for what makes no event': {
    'signs of life are not passed on': [['      options.onActivity?.()\n', '']],
  },
  'output includes what was spent on reasoning': {
    'what was mused is not added': [['wrote + (mused ?? 0)', 'wrote']],
  },
  'pieces of several calls that come in turn are kept apart': {
    'positions are mixed up': [
      [
        '  const block = song.blocks.get(at)\n',
        '  const block = [...song.blocks.values()].at(-1)\n',
      ],
    ],
  },
  'raw chunks do not come unless they are asked for': {
    'the last line is shown unasked': [
      [
        '  song.raw({ ...line } as JsonObject)',
        "  if (line.end === undefined) song.raw({ ...line } as JsonObject)\n  else song.emit({ type: 'raw_chunk', chunk: JSON.stringify(line) })",
      ],
    ],
  },
  'reasoning arrives as deltas that add up to it': {
    'musing has no end': [
      ["    song.emit({ type: 'reasoning_completed', text, index: at, ...opaque })\n", ''],
    ],
  },
  'reasoning is a part of the message, not of its text': {
    'musing is among the words of the message': [
      [
        "    block.part = { type: 'reasoning', text, provider: 'wren', ...opaque }",
        "    block.part = { type: 'text', text }",
      ],
    ],
  },
  'text arrives as deltas that add up to it': {
    'a line is read twice': [
      [
        '        read(JSON.parse(line) as Line, song, call, hide)\n',
        '        read(JSON.parse(line) as Line, song, call, hide)\n        if (line.includes(\'"add":"lo"\')) read(JSON.parse(line) as Line, song, call, hide)\n',
      ],
    ],
  },
  'text arrives while the answer goes on': {
    'the last line of a read is held back': [
      [
        '      yield lines\n',
        "      yield lines.slice(0, -1)\n      rest = `${lines.at(-1) ?? ''}\\n${rest}`\n",
      ],
    ],
  },
  'text before a call is kept': {
    'calls are named by their position': [
      ['{ id: ref, name: skill, arguments', '{ id: `call_${at + 1}`, name: skill, arguments'],
    ],
  },
  'a message in parts has a part for each block, in their order': {
    'a text is a part for each line that brought it': [
      [
        "    block.part = { type: 'text', text }\n",
        "    block.part = { type: 'text', text }\n    block.parts = Array.from(text, (one) => ({ type: 'text', text: one }) as const)\n",
      ],
      [
        'blocks.flatMap(({ part }) => part ?? [])',
        'blocks.flatMap((block) => block.parts ?? block.part ?? [])',
      ],
    ],
  },
  'arguments that are JSON and no object are kept as they were written': {
    'null is taken for arguments': [
      [
        "typeof value === 'object' && value !== null && !Array.isArray(value)",
        "typeof value === 'object' && !Array.isArray(value)",
      ],
    ],
    'a text is taken for arguments': [
      [
        "typeof value === 'object' && value !== null && !Array.isArray(value)",
        "(typeof value === 'object' || typeof value === 'string') && value !== null && !Array.isArray(value)",
      ],
    ],
  },
  'the key is on no property of the adapter': {
    'the token is on the adapter, and not enumerable': [
      [
        "  return {\n    provider: 'wren',\n",
        "  return Object.defineProperty({\n    provider: 'wren',\n",
      ],
      [
        '        return { next: call.next, return: call.leave }\n      },\n    }),\n  }\n',
        "        return { next: call.next, return: call.leave }\n      },\n    }),\n  }, 'token', { value: own.token }) as ChatAdapter\n",
      ],
    ],
  },
  'text blocks stay apart': {
    'every text has the position 0': [
      [
        "{ type: 'text_delta', delta: line.add, index: at }",
        "{ type: 'text_delta', delta: line.add, index: 0 }",
      ],
    ],
    'blocks are in reverse': [['.toSorted(([a], [b]) => a - b)', '.toSorted(([a], [b]) => b - a)']],
  },
  'texts are sent as they were written': {
    'words are lower case': [['[{ words: part.text }]', '[{ words: part.text.toLowerCase() }]']],
    'spaces at the ends of words are lost': [
      ['[{ words: part.text }]', '[{ words: part.text.trimEnd() }]'],
    ],
    'the second part of a message is lost': [
      ['    says: parts.flatMap(sayingOf),', '    says: parts.flatMap(sayingOf).slice(0, 1),'],
    ],
  },
  'the calls of tools are sent back as they were made': {
    'the arguments of a call lose what is false': [
      [
        '    with: args,',
        '    with: Object.fromEntries(Object.entries(args).filter(([, value]) => value)) as JsonObject,',
      ],
    ],
    'arguments are sent twice': [['    with: args,', '    with: args,\n    also: args,']],
  },
  'the first event comes with the first content': {
    'the song begins before the words': [
      [
        '    return linesOf(response.body,',
        "    song.emit({ type: 'text_delta', delta: '' })\n    return linesOf(response.body,",
      ],
    ],
  },
  'the key of a call is sent before the key of the adapter': {
    'the token of the adapter wins': [
      ['const token = options.apiKey ?? own.token', 'const token = own.token'],
    ],
  },
  'the model is sent': {
    'the voice is always the same': [["voice: request.model ?? 'wren-1',", "voice: 'wren-1',"]],
  },
  'the options of the provider are sent, and those of others are not': {
    'the options of the provider are not sent': [
      ["    ...(request.providerOptions as Readonly<Record<string, JsonObject>>)['wren'],\n", ''],
    ],
  },
  'the pieces of a call add up to its arguments': {
    'a block is opened anew by every piece': [
      [
        '  if (line.open !== undefined) {',
        "  if (line.open !== undefined || line.add?.startsWith('\"') === true) {",
      ],
    ],
  },
  'the request is not changed': {
    'the request gets a note': [
      [
        'function render(request: ModelRequest, warnings: Warning[]): JsonObject {\n',
        'function render(request: ModelRequest, warnings: Warning[]): JsonObject {\n  Object.assign(request.metadata, { rendered: true })\n',
      ],
    ],
    'a message is added to the request': [
      [
        'function render(request: ModelRequest, warnings: Warning[]): JsonObject {\n',
        "function render(request: ModelRequest, warnings: Warning[]): JsonObject {\n  ;(request.messages as Message[]).push({ role: 'user', content: 'go on' })\n",
      ],
    ],
  },
  'the result of a tool is sent back': {
    'results are trimmed': [['value: plain(content) }', 'value: plain(content).trim() }']],
    'the ids of calls are new': [
      ['    ref: id,\n    skill: name', '    ref: crypto.randomUUID(),\n    skill: name'],
    ],
    'results have swapped ids': [
      ["ref: toolCallId ?? ''", "ref: toolCallId === 'call_oslo' ? 'call_lisbon' : 'call_oslo'"],
    ],
    'results are trimmed and shortened': [
      ['value: plain(content) }', 'value: plain(content).slice(0, 12) }'],
    ],
    'results become words of a person': [
      [
        "  if (role === 'tool') return { who: 'skill', ref: toolCallId ?? '', value: plain(content) }",
        "  if (role === 'tool') return { who: 'person', says: [{ words: plain(content) }] }",
      ],
    ],
  },
  'the same bytes in other pieces are the same answer': {
    'the rest of a read is forgotten': [
      ['      const lines = (rest + decoder', '      const lines = (decoder'],
    ],
  },
  'the tools are described to the model': {
    'skills have no names': [['            skill: name,\n            about', '            about']],
    'the schema is a text of its keys': [
      ['            takes: schema,', "            takes: Object.keys(schema['properties'] ?? {}),"],
    ],
    'lists in schemas become texts': [
      [
        '            takes: schema,',
        '            takes: JSON.parse(JSON.stringify(schema).replaceAll(\'"array"\', \'"string"\')),',
      ],
    ],
    'a description is cut': [
      ['            about: description,', '            about: description.slice(0, 10),'],
    ],
  },
  'usage that the provider did not report is not made up': {
    'the counts of the last call stay': [
      ['    usage: undefined as Usage | undefined,', '    usage: lastUsage,'],
      [
        '  if (line.count !== undefined) song.usage = usageOf(line.count)',
        '  if (line.count !== undefined) lastUsage = song.usage = usageOf(line.count)',
      ],
      [
        'interface Block {',
        'let lastUsage: Usage | undefined = { inputTokens: 1 }\ninterface Block {',
      ],
    ],
    'tokens are guessed from the text': [
      [
        '...(song.usage === undefined ? {} : { usage: song.usage }),',
        'usage: song.usage ?? { outputTokens: JSON.stringify(content).length },',
      ],
    ],
  },
  'what is not for the provider is not sent': {
    'metadata goes along': [['    turns,\n', '    turns,\n    note: request.metadata,\n']],
  },
  'what the provider wants echoed goes back with the message': {
    'the seal is a text of itself': [['{ opaque: seal }', '{ opaque: JSON.stringify(seal) }']],
  },
  'whitespace is kept': {
    'blank words are left out': [
      [
        "    if (kind === 'words') song.emit(",
        "    if (kind === 'words' && line.add.trim() !== '') song.emit(",
      ],
    ],
  },
}
