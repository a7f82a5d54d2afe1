import type { Bugs } from './species.ts'

/** Bugs of `heron.ts`, by the case that has to find them: each changes a few characters of its text. */
export const heronBugs: Bugs = {
  'the headers of a call are sent': {
    'the headers of a call are not sent': [['        ...options.headers,\n', '']],
  },
  'every character of a text is sent as it is': {
    'texts are normalized': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.normalize('NFKC') }]",
      ],
    ],
    'emoji are left out': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.replace(/[^\\u0000-\\uFFFF]/gu, '') }]",
      ],
    ],
  },
  'messages that are equal are all sent': {
    'a message that repeats the one before it is left out': [
      [
        "const messages = request.messages.filter(({ role }) => role !== 'system').map(messageOf)",
        "const messages = request.messages.filter(({ role, content }, at, all) => role !== 'system' && all[at - 1]?.content !== content).map(messageOf)",
      ],
    ],
  },
  'a long conversation is sent whole': {
    'only the last ten messages are sent': [
      [
        "filter(({ role }) => role !== 'system').map(messageOf)",
        "filter(({ role }) => role !== 'system').slice(-10).map(messageOf)",
      ],
    ],
  },
  'many tools are sent whole': {
    'only the first eight tools are sent': [['tools: tools.map(', 'tools: tools.slice(0, 8).map(']],
  },
  'a turn of calls without a text, and a result without one, are sent': {
    'turns without a text are left out': [
      [
        "filter(({ role }) => role !== 'system').map(messageOf)",
        "filter(({ role, content }) => role !== 'system' && !(role === 'assistant' && content === '')).map(messageOf)",
      ],
    ],
    'results without a text are left out': [
      [
        "filter(({ role }) => role !== 'system').map(messageOf)",
        "filter(({ role, content }) => role !== 'system' && !(role === 'tool' && content === '')).map(messageOf)",
      ],
    ],
  },
  'several images are sent, each with its type, also in earlier messages': {
    'every image is a PNG': [['mime: part.image.mimeType,', "mime: 'image/png',"]],
    'images of earlier messages are left out': [
      [
        "filter(({ role }) => role !== 'system').map(messageOf)",
        "filter(({ role }) => role !== 'system').map((message, at, all) => messageOf(at === all.length - 1 || typeof message.content === 'string' ? message : { ...message, content: message.content.filter(({ type }) => type !== 'image') }))",
      ],
    ],
  },
  'media that a message has is sent, or the call is refused': {
    'what heron does not take is left out': [
      [
        "  throw new AdapterError('unsupported_feature', `heron takes no ${part.type} of this kind`, {\n    provider: 'heron',\n  })",
        '  return []',
      ],
    ],
  },
  'all reasoning of an answer goes back, in its place': {
    'reasoning is sent after the text': [
      [
        'content: parts.flatMap(partOf),',
        "content: parts.toSorted((a, b) => Number(a.type === 'reasoning') - Number(b.type === 'reasoning')).flatMap(partOf),",
      ],
    ],
    'only the first thought is sent back': [
      [
        'content: parts.flatMap(partOf),',
        "content: parts.filter((part, at) => part.type !== 'reasoning' || parts.findIndex(({ type }) => type === 'reasoning') === at).flatMap(partOf),",
      ],
    ],
  },
  'a long answer arrives whole': {
    'an answer is cut at a length': [
      [
        '  if (reply.open?.kind !== kind) close(reply)',
        '  if ((reply.open?.text.length ?? 0) > 1000) return\n  if (reply.open?.kind !== kind) close(reply)',
      ],
    ],
    'carriage returns are left out': [
      [
        "      grow(reply, 'text', event.text)",
        "      grow(reply, 'text', event.text.replaceAll('\\r', ''))",
      ],
    ],
    'entities are decoded': [
      [
        "      grow(reply, 'text', event.text)",
        "      grow(reply, 'text', event.text.replaceAll('&amp;', '&'))",
      ],
    ],
  },
  'many calls of one answer arrive, each as it was made': {
    'members that are null are left out': [
      [
        'arguments: argumentsOf(raw),',
        'arguments: JSON.parse(JSON.stringify(argumentsOf(raw), (_key, member: unknown) => member ?? undefined)),',
      ],
    ],
  },
  'a count of 0 that the provider reports is kept': {
    'a count of 0 is left out': [['...(sent.output === undefined ?', '...(!sent.output ?']],
  },
  'raw chunks are what the provider sent, and come once': {
    'raw chunks have a member more': [
      ['reply.raw({ ...event })', 'reply.raw({ ...event, seen: true })'],
    ],
  },
  'the pieces of a call arrive while the model writes it': {
    'pieces are held back until the call ends': [
      [
        "      reply.emit({ type: 'tool_call_delta', id: call.id, argumentsDelta: event.json })\n",
        '',
      ],
      [
        '      const call: ToolCall = {',
        "      reply.emit({ type: 'tool_call_delta', id, argumentsDelta: raw })\n      const call: ToolCall = {",
      ],
    ],
  },
  'an answer beyond maxResponseBytes ends with too_large': {
    'maxResponseBytes is not kept': [
      ['size > (options.maxResponseBytes ?? Infinity)', 'size > Infinity'],
    ],
  },
  'the id of a run that has none is made by newId': {
    'newId is not used': [
      ["options.requestId ?? options.newId?.('request') ?? crypto", 'options.requestId ?? crypto'],
    ],
  },
  'a refusal says whether another attempt may succeed, and invents no wait': {
    'no refusal is tried again': [
      [
        '    status,\n    ...(wait === null',
        '    status,\n    retryable: false,\n    ...(wait === null',
      ],
    ],
    'every refusal is tried again': [
      [
        '    status,\n    ...(wait === null',
        '    status,\n    retryable: true,\n    ...(wait === null',
      ],
    ],
    'a wait of 0 is invented': [
      [
        '...(wait === null ? {} : { retryAfterMs: Number(wait) * 1000 }),',
        'retryAfterMs: Number(wait) * 1000,',
      ],
    ],
  },
  'a failure has the words of the provider': {
    'the words of a refusal are lost': [
      ['clean(error.message ?? `heron answered ${status}`)', '`heron answered ${status}`'],
    ],
    'the message of a refusal is its body': [
      ['clean(error.message ?? `heron answered ${status}`)', 'clean(text)'],
    ],
    'the words of a failure in the middle are lost': [
      ['clean(event.message)', 'clean(event.code)'],
    ],
  },
  'an option that is undefined counts as left out': {
    'headers that are undefined are read': [
      [
        '        ...options.headers,\n      },',
        "        ...('headers' in options ? Object.fromEntries(Object.entries(options.headers)) : {}),\n      },",
      ],
    ],
    'a limit that is undefined is reached at once': [
      [
        'if (done) throw',
        "if (done || ('maxResponseBytes' in options && !(1 < options.maxResponseBytes))) throw",
      ],
    ],
  },
  'a call arrives with its id, its name and its arguments': {
    'arguments are left as text': [['arguments: argumentsOf(raw),', 'arguments: raw as never,']],
    'arguments are always empty': [['arguments: argumentsOf(raw),', 'arguments: {},']],
  },
  'a call gets nothing of the answers before it': {
    'calls share their state': [
      [
        '  const reply = newReply(facts, options.includeRawChunks === true)',
        '  const reply = (shared ??= newReply(facts, options.includeRawChunks === true))',
      ],
      [
        'type Own = Parameters<typeof heron>[0]',
        'let shared: Reply | undefined\ntype Own = Parameters<typeof heron>[0]',
      ],
    ],
  },
  'a call is started before it is completed': {
    'tool_call_started is missing': [
      ["      reply.emit({ type: 'tool_call_started', id: event.id, name: event.name })\n", ''],
    ],
    'tool_call_started has the id as its name': [
      [
        "{ type: 'tool_call_started', id: event.id, name: event.name }",
        "{ type: 'tool_call_started', id: event.id, name: event.id }",
      ],
    ],
  },
  'a call sends nothing of the call before it': {
    'messages of earlier calls are sent again': [
      [
        'type Own = Parameters<typeof heron>[0]',
        'const seen: unknown[] = []\ntype Own = Parameters<typeof heron>[0]',
      ],
      [
        '    messages,\n    ...(tools',
        '    messages: (seen.push(...messages), [...seen]),\n    ...(tools',
      ],
    ],
  },
  'a call that fails with content_filter before its first event rejects with it': {
    'a filtered prompt is invalid_request': [
      ["error.code === 'too_long' || error.code === 'blocked'", "error.code === 'too_long'"],
    ],
  },
  'a call that fails with context_length_exceeded before its first event rejects with it': {
    'a prompt that is too long is invalid_request': [
      ["error.code === 'too_long' || error.code", 'error.code'],
    ],
  },
  'a call that fails with invalid_request before its first event rejects with it': {
    'a refusal is an event': [
      [
        '    if (!reply.begun) throw failure\n',
        "    if (!reply.begun) yield [{ type: 'message_started', ...facts }]\n",
      ],
    ],
  },
  'a call that fails with malformed_response before its first event rejects with it': {
    'a page of a proxy is an empty answer': [
      [
        "    if (!response.headers.get('content-type')?.startsWith('text/event-stream'))\n      throw new AdapterError('malformed_response', 'heron did not answer with events', {\n        ...facts,\n        status: 200,\n      })\n",
        '',
      ],
    ],
  },
  'a call that fails with network_error before its first event rejects with it': {
    'what fetch throws comes out': [
      ['  return begun\n    ?', '  if (!begun) throw error\n  return begun\n    ?'],
    ],
  },
  'a call that is over leaves no timer and no listener behind': {
    'the listener stays on the signal': [
      ["    options.signal?.removeEventListener('abort', stop)\n", ''],
    ],
    'a timer of the platform stays': [
      [
        '  let sleeping = new AbortController()',
        '  setTimeout(() => undefined, 60_000)\n  let sleeping = new AbortController()',
      ],
    ],
  },
  'a call without options is legal and gets an id of its own': {
    'options are needed': [
      [
        '    stream(request, options = {}) {',
        "    stream(request, options) {\n      if (options?.requestId === undefined) throw new TypeError('requestId')",
      ],
    ],
  },
  'a count that the provider did not report is not made up': {
    'counts that did not come are zero': [
      [
        '...(sent.cached === undefined ? {} : { cachedInputTokens: sent.cached }),',
        'cachedInputTokens: sent.cached ?? 0,',
      ],
    ],
    'the total is wrong': [
      [
        '...(sent.input === undefined ? {} : { inputTokens: sent.input }),',
        '...(sent.input === undefined ? {} : { inputTokens: sent.input, totalTokens: sent.input }),',
      ],
    ],
  },
  'a failure in the middle says how long to wait': {
    'the wait in the middle is lost': [
      ['        ...(event.wait_ms === undefined ? {} : { retryAfterMs: event.wait_ms }),\n', ''],
    ],
  },
  'a failure that the provider reports in the middle is the last event': {
    'what came with a failure is lost': [
      [
        "yield [...reply.take(), { type: 'error'",
        "yield [...reply.take().slice(99), { type: 'error'",
      ],
    ],
    'a failure in the middle is thrown': [
      [
        "    yield [...reply.take(), { type: 'error', error: failure.toJSON() }]",
        '    yield reply.take()\n    throw failure',
      ],
    ],
    'a failure in the middle is silent': [
      [
        "    yield [...reply.take(), { type: 'error', error: failure.toJSON() }]",
        "    finish(reply, 'end')\n    yield reply.take()",
      ],
    ],
    'every failure in the middle is unknown': [
      ["  return codes[code] ?? 'unknown'", "  return 'unknown'"],
    ],
  },
  'a key of any form that the provider repeats is in nothing that leaves the adapter': {
    'what the provider says is told as it is': [
      [
        "const clean = (text: string) => text.replaceAll(key, '[key]')",
        'const clean = (text: string) => text',
      ],
    ],
    'only keys of a known form are removed': [
      ["text.replaceAll(key, '[key]')", "text.replace(/sk-[a-z0-9]+/, '[key]')"],
    ],
    'the key is in the cause of an error': [
      [
        "    : new AdapterError('network_error', 'heron could not be reached', facts)",
        "    : new AdapterError('network_error', 'heron could not be reached', facts)\n}\nexport function unused() {",
      ],
      [
        'return new AdapterError(reason, clean(error.message ?? `heron answered ${status}`), details)',
        'return new AdapterError(reason, clean(error.message ?? `heron answered ${status}`), { ...details, cause: new Error(text) })',
      ],
    ],
  },
  'a redirect is not followed': {
    'redirects are followed': [["      redirect: 'manual',\n", '']],
  },
  'a refusal has the status of its answer': {
    'the status is lost': [
      ['    ...facts,\n    status,\n    ...(wait', '    ...facts,\n    ...(wait'],
    ],
    'the status is always 500': [
      ['    ...facts,\n    status,\n    ...(wait', '    ...facts,\n    status: 500,\n    ...(wait'],
    ],
  },
  'a refusal names its provider and its run': {
    'refusals do not name their provider': [
      [
        '  const details = {\n    ...facts,',
        '  const details = {\n    requestId: facts.requestId,',
      ],
    ],
  },
  'a refusal says how long to wait': {
    'Retry-After is told in seconds': [['Number(wait) * 1000', 'Number(wait)']],
    'Retry-After is lost': [
      ['    ...(wait === null ? {} : { retryAfterMs: Number(wait) * 1000 }),\n', ''],
    ],
  },
  'a refused call is not tried again': {
    'a refused call is tried again': [
      [
        '    if (response.status !== 200) throw',
        "    if (response.status === 503) await own.fetch('https://heron.example/v1/chat', { method: 'POST', headers: { authorization: `Bearer ${key}` }, body, redirect: 'manual', signal: leave.signal })\n    if (response.status !== 200) throw",
      ],
    ],
  },
  'a setting is sent as it is given': {
    'stop sequences are trimmed': [
      ['{ stop: stopSequences }', '{ stop: stopSequences.map((one) => one.trim()) }'],
    ],
    'numbers are sent as texts': [
      [
        '...(topP === undefined ? {} : { top_p: topP }),',
        '...(topP === undefined ? {} : { top_p: String(topP) }),',
      ],
    ],
    'temperature is rounded': [
      [
        '...(temperature === undefined ? {} : { temperature }),',
        '...(temperature === undefined ? {} : { temperature: Math.round(temperature * 100) / 100 }),',
      ],
    ],
    'temperature is sent as text': [
      [
        '...(temperature === undefined ? {} : { temperature }),',
        '...(temperature === undefined ? {} : { temperature: String(temperature) }),',
      ],
    ],
    'topP is sent as temperature': [
      [
        '...(topP === undefined ? {} : { top_p: topP }),',
        '...(topP === undefined ? {} : { temperature: topP }),',
      ],
    ],
    'topP is sent twice': [['{ top_p: topP }', '{ top_p: topP, topP }']],
    'maxTokens is limited to 4096': [
      ['{ max_tokens: maxTokens }', '{ max_tokens: Math.min(maxTokens, 4096) }'],
    ],
    'stopSequences have only the first': [
      ['{ stop: stopSequences }', '{ stop: stopSequences[0] }'],
    ],
    'stopSequences are joined': [['{ stop: stopSequences }', "{ stop: stopSequences.join(',') }"]],
    'the penalties are swapped': [
      [
        '{ presence_penalty: request.presencePenalty }',
        '{ presence_penalty: request.frequencyPenalty ?? 0 }',
      ],
    ],
    'presencePenalty is sent positive': [
      [
        '{ presence_penalty: request.presencePenalty }',
        '{ presence_penalty: Math.abs(request.presencePenalty) }',
      ],
    ],
    'required is sent as auto': [
      [
        "choice === 'required') return choice",
        "choice === 'required') return choice === 'required' ? 'auto' : choice",
      ],
    ],
    'none is sent as auto': [
      [
        "choice === 'required') return choice",
        "choice === 'required') return choice === 'none' ? 'auto' : choice",
      ],
    ],
    'a named tool is sent as required': [['  return { tool: choice }', "  return 'required'"]],
    'a schema is asked for as any JSON': [
      [
        '{ format: request.responseFormat }',
        "{ format: { type: request.responseFormat.type === 'text' ? 'text' : 'json_object' } }",
      ],
    ],
    'the schema of the answer has no required members': [
      [
        '{ format: request.responseFormat }',
        "{ format: JSON.parse(JSON.stringify(request.responseFormat, (key, value) => (key === 'required' ? undefined : value))) }",
      ],
    ],
    'every effort is high': [['{ effort: request.reasoning.effort }', "{ effort: 'high' }"]],
  },
  'a setting that is not sent is named in warnings': {
    'temperature is dropped': [
      ['    ...(temperature === undefined ? {} : { temperature }),\n', ''],
    ],
    'temperature 0 is dropped': [
      [
        '...(temperature === undefined ? {} : { temperature }),',
        '...(temperature ? { temperature } : {}),',
      ],
    ],
    'topP is dropped': [['    ...(topP === undefined ? {} : { top_p: topP }),\n', '']],
    'maxTokens is dropped': [
      ['    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),\n', ''],
    ],
    'seed 0 is dropped': [
      ['...(seed === undefined ? {} : { seed }),', '...(seed ? { seed } : {}),'],
    ],
    'frequencyPenalty is dropped': [['{ frequency_penalty: request.frequencyPenalty }', '{}']],
    'topK is dropped without a word': [
      [
        "    warnings.push({ setting: 'topK', problem: 'heron has no such setting' })",
        '    void warnings',
      ],
    ],
    'the choice of tools is dropped': [
      [
        '    ...(request.toolChoice === undefined ? {} : { tool_choice: choiceOf(request.toolChoice) }),\n',
        '',
      ],
    ],
    'parallelToolCalls false is dropped': [
      [
        '...(request.parallelToolCalls === undefined\n      ? {}',
        '...(!request.parallelToolCalls\n      ? {}',
      ],
    ],
    'the format of the answer is dropped': [
      [
        '    ...(request.responseFormat === undefined ? {} : { format: request.responseFormat }),\n',
        '',
      ],
    ],
    'effort is dropped': [
      [
        '    ...(request.reasoning === undefined ? {} : { effort: request.reasoning.effort }),\n',
        '',
      ],
    ],
  },
  'a setting that the request does not have is not sent': {
    'temperature has a default': [
      ['...(temperature === undefined ? {} : { temperature }),', 'temperature: temperature ?? 1,'],
    ],
    'a seed comes unasked': [['...(seed === undefined ? {} : { seed }),', 'seed: seed ?? 42,']],
  },
  'a signal that is aborted already rejects with cancelled': {
    'a signal that is aborted is not looked at': [
      ['    if (options.signal?.aborted) stop()\n', ''],
    ],
  },
  'a silence beyond streamTimeoutMs ends the stream with the error timeout': {
    'streamTimeoutMs is not kept': [
      [
        '      if (reply.begun) timer.start(options.streamTimeoutMs)\n',
        '      if (reply.begun) timer.start(undefined)\n',
      ],
    ],
    'time is measured by the wall clock': [
      [
        '    clock?.sleep(ms, sleeping.signal).then(',
        "    new Promise<void>((resolve, reject) => { const id = setTimeout(resolve, ms); sleeping.signal.addEventListener('abort', () => { clearTimeout(id); reject(new Error('stopped')) }) }).then(",
      ],
    ],
    'a timeout is told as a StreamError': [
      ["new AdapterError('timeout', `heron", "new StreamError('timeout', `heron"],
    ],
  },
  'a stream that has ended leaves no timer behind': {
    'the timer stays': [['    timer.stop()\n', '']],
  },
  'a stream that is left closes its connection': {
    'leaving keeps the connection': [
      ['    leave.abort()\n    await reader?.cancel().catch(() => undefined)\n', ''],
      [
        '            return(value) {\n              leave.abort()\n',
        '            return(value) {\n',
      ],
    ],
  },
  'a stream that is left while it is read closes its connection': {
    'a read that is under way is not ended': [
      [
        '            return(value) {\n              leave.abort()\n',
        '            return(value) {\n',
      ],
    ],
  },
  'a wait beyond requestTimeoutMs for the first event rejects with timeout': {
    'requestTimeoutMs is not kept': [['    timer.start(options.requestTimeoutMs)\n', '']],
  },
  'an abort before the first event rejects with cancelled': {
    'the signal is not listened to': [
      ["    options.signal?.addEventListener('abort', stop, { once: true })\n", ''],
    ],
    'an abort is told as network_error': [
      [
        '  if (left.aborted) return isAllmError(left.reason) ? left.reason : undefined\n',
        "  if (left.aborted && !isAllmError(left.reason)) return undefined\n  if (left.aborted) return begun ? new StreamError('truncated', 'broken', facts) : new AdapterError('network_error', 'broken', facts)\n",
      ],
    ],
  },
  'an abort in the middle ends the stream with the error cancelled': {
    'an abort ends the stream without a word': [
      [
        '  if (left.aborted) return isAllmError(left.reason) ? left.reason : undefined\n',
        "  if (left.aborted) return isAllmError(left.reason) && left.reason.reason === 'timeout' ? left.reason : undefined\n",
      ],
    ],
  },
  'an answer is over when the provider says so, though the connection stays open': {
    'the answer waits for the connection to close': [
      ['        if (reply.over) break\n', ''],
      [
        '      if (reply.over) return\n',
        '      if (reply.over) for (;;) if ((await reader.read()).done) return\n',
      ],
    ],
  },
  'an answer that breaks off is truncated, never complete': {
    'a broken connection is unknown': [
      [
        "    ? new StreamError('truncated', 'the connection broke', facts)",
        "    ? new StreamError('unknown', 'the connection broke', facts)",
      ],
    ],
  },
  'an answer that ends by itself finishes with stop': {
    "the provider's word is the finish reason": [
      ["finishReason: finishes[reason] ?? 'other',", 'finishReason: reason as FinishReason,'],
    ],
  },
  'an answer that ends in a way of its own finishes with other': {
    'an unknown end is told as stop': [
      ["finishes[reason] ?? 'other'", "finishes[reason] ?? 'stop'"],
    ],
    'rawFinishReason is lost': [['    rawFinishReason: reason,\n', '']],
  },
  'an answer that was cut off for its length finishes with length': {
    'length is told as stop': [["  limit: 'length',", "  limit: 'stop',"]],
  },
  'an answer that was filtered finishes with content_filter': {
    'filtered answers are told as stop': [
      [
        "  blocked: 'content_filter',\n}\n\nfunction finish",
        "  blocked: 'stop',\n}\n\nfunction finish",
      ],
    ],
  },
  'an answer whose body ends early is truncated, never complete': {
    'the end of the body ends the answer': [
      [
        "      if (done) throw new StreamError('truncated', 'the answer ended without its last event', facts)",
        "      if (done) {\n        finish(reply, 'end')\n        yield reply.take()\n        return\n      }",
      ],
    ],
    'a body that ends is a network error': [
      [
        "new StreamError('truncated', 'the answer ended without its last event', facts)",
        "new AdapterError('network_error', 'the answer ended', facts)",
      ],
    ],
  },
  'an answer with calls finishes with tool_calls': {
    'calls end with stop': [["  call: 'tool_calls',", "  call: 'stop',"]],
  },
  'an error event is plain data and names its provider and its run': {
    'an error event holds the error itself': [
      ["{ type: 'error', error: failure.toJSON() }", "{ type: 'error', error: failure }"],
    ],
    'errors do not name their run': [
      [
        "const facts: Facts = { provider: 'heron', requestId }",
        "const facts: Facts = { provider: 'heron', requestId }\n  const nameless = { provider: 'heron' }",
      ],
      ["'the connection broke', facts", "'the connection broke', { provider: 'heron' }"],
    ],
  },
  'an event that cannot be read is malformed_event': {
    'a broken event is passed over': [
      [
        '        decode(JSON.parse(data) as Wire, reply, facts, clean)',
        '        try {\n          decode(JSON.parse(data) as Wire, reply, facts, clean)\n        } catch (error) {\n          if (!(error instanceof SyntaxError)) throw error\n        }',
      ],
    ],
    'a broken event is truncated': [
      [
        "new StreamError('malformed_event', 'an event of heron is not JSON', facts)",
        "new StreamError('truncated', 'an event of heron is not JSON', facts)",
      ],
    ],
  },
  'an event that nobody knows is passed over': {
    'an event that nobody knows is an error': [
      [
        '    default:\n    // Heron',
        "    default:\n      throw new SyntaxError('unknown')\n    // Heron",
      ],
    ],
    'an event that nobody knows ends the answer': [
      ['    default:\n    // Heron', "    default:\n      finish(reply, 'end')\n    // Heron"],
    ],
  },
  'an image that the model makes arrives with its bytes': {
    'images of the model are dropped': [
      [
        "      reply.parts.push({ type: 'image', image })\n      reply.emit({ type: 'image_completed', image })\n",
        '',
      ],
    ],
    'an image is only in the message': [
      ["      reply.emit({ type: 'image_completed', image })\n", ''],
    ],
  },
  'arguments that JSON cannot hold are kept as they were written': {
    'infinite arguments are kept': [['JSON.parse(raw, finite)', 'JSON.parse(raw)']],
  },
  'arguments that are not JSON are kept as they were written': {
    'rawArguments is lost': [
      ['arguments: argumentsOf(raw), rawArguments: raw }', 'arguments: argumentsOf(raw) }'],
    ],
    'rawArguments is written anew': [
      ['rawArguments: raw }', 'rawArguments: JSON.stringify(argumentsOf(raw)) }'],
    ],
    'broken arguments break the answer': [
      [
        '  } catch {\n    return {}\n  }\n}\n\n/** JSON.parse',
        '  } catch (error) {\n    throw error\n  }\n}\n\n/** JSON.parse',
      ],
    ],
  },
  'calls in one answer stay apart and keep their order': {
    'calls are in the order of their ends': [
      [
        'const toolCalls = reply.made.toSorted((a, b) => order.indexOf(a.id) - order.indexOf(b.id))',
        'const toolCalls = order.length > 0 ? reply.made.toReversed() : []',
      ],
    ],
    'every call has the same id': [
      ['reply.calls.set(event.id, { id: event.id,', "reply.calls.set(event.id, { id: 'call',"],
    ],
  },
  'characters that the bytes are cut through arrive whole': {
    'bytes are decoded piece by piece': [
      ['decoder.decode(value, { stream: true })', 'new TextDecoder().decode(value)'],
    ],
  },
  'events are plain JSON': {
    'an event holds a date': [
      [
        "{ type: 'text_delta', delta: text }",
        "{ type: 'text_delta', delta: text, at: new Date(0) } as ModelEvent",
      ],
    ],
    'an event has an undefined member': [
      [
        "{ type: 'text_completed', text }",
        "{ type: 'text_completed', text, index: undefined } as never",
      ],
    ],
  },
  'every message is sent, in its order': {
    'the system text is dropped': [["...(system === '' ? {} : { system }),", '']],
    'the system text is sent twice': [
      [
        '    messages,\n    ...(tools',
        "    messages: system === '' ? messages : [{ role: 'system', content: [{ type: 'text', text: system }] }, ...messages],\n    ...(tools",
      ],
    ],
    'only the last message is sent': [
      [
        ".filter(({ role }) => role !== 'system').map(messageOf)",
        ".filter(({ role }) => role !== 'system').slice(-1).map(messageOf)",
      ],
    ],
    'the last message is sent twice': [
      [
        ".filter(({ role }) => role !== 'system').map(messageOf)",
        ".filter(({ role }) => role !== 'system').flatMap((one, at, all) => at === all.length - 1 ? [messageOf(one), messageOf(one)] : [messageOf(one)])",
      ],
    ],
    'messages are sent in reverse': [
      [
        ".filter(({ role }) => role !== 'system').map(messageOf)",
        ".filter(({ role }) => role !== 'system').map(messageOf).toReversed()",
      ],
    ],
    'the first question is dropped': [
      [
        ".filter(({ role }) => role !== 'system').map(messageOf)",
        ".filter(({ role }, at) => role !== 'system' && at !== 1).map(messageOf)",
      ],
    ],
  },
  'files of a message are sent': {
    'files are dropped': [
      [
        "    return [{ type: 'document', mime: part.file.mimeType, data: part.file.base64 }]",
        '    return []',
      ],
    ],
    'files have no type': [
      [
        "{ type: 'document', mime: part.file.mimeType, data: part.file.base64 }",
        "{ type: 'document', data: part.file.base64 }",
      ],
    ],
  },
  'headers and then silence end with a timeout or an abort': {
    'the headers end requestTimeoutMs': [
      ['    reader = (response.body', '    timer.stop()\n    reader = (response.body'],
    ],
  },
  'images of a message are sent': {
    'images are dropped': [
      [
        "    return [{ type: 'image', mime: part.image.mimeType, data: part.image.base64 }]",
        '    return []',
      ],
    ],
    'images have no type': [
      [
        "{ type: 'image', mime: part.image.mimeType, data: part.image.base64 }",
        "{ type: 'image', data: part.image.base64 }",
      ],
    ],
    'every image is a jpeg': [['mime: part.image.mimeType', "mime: 'image/jpeg'"]],
    'images come after all texts': [
      [
        'content: parts.flatMap(partOf),',
        "content: [...parts.filter(({ type }) => type === 'text'), ...parts.filter(({ type }) => type !== 'text')].flatMap(partOf),",
      ],
    ],
    'the bytes of an image are cut': [
      ['data: part.image.base64 }', 'data: part.image.base64.slice(0, 64) }'],
    ],
  },
  'input includes what was read from a cache': {
    'cached tokens are added again': [
      ['{ inputTokens: sent.input }', '{ inputTokens: sent.input + (sent.cached ?? 0) }'],
    ],
  },
  'input includes what was written to a cache': {
    'cache writes are lost': [
      [
        '    ...(sent.cache_write === undefined ? {} : { cacheWriteInputTokens: sent.cache_write }),\n',
        '',
      ],
    ],
  },
  'message_started names the run and the provider': {
    'message_started has another run': [
      [
        "{ type: 'message_started', ...facts,",
        "{ type: 'message_started', ...facts, requestId: crypto.randomUUID(),",
      ],
    ],
    'message_started has no provider': [
      [
        "{ type: 'message_started', ...facts,",
        "{ type: 'message_started', ...facts, provider: '',",
      ],
    ],
  },
  'messages are sent in the role of their author': {
    'the system text is sent as a message of the user': [
      [
        "const messages = request.messages.filter(({ role }) => role !== 'system').map(messageOf)",
        "const messages = request.messages.map((message) => messageOf(message.role === 'system' ? { ...message, role: 'user' } : message))",
      ],
      ["...(system === '' ? {} : { system }),", ''],
    ],
    'the system text is put before the first question': [
      [
        '    messages,\n    ...(tools',
        "    messages: [{ role: 'user', content: [{ type: 'text', text: system + textOf(request.messages.find(({ role }) => role === 'user') ?? { role: 'user', content: '' }) }] }, ...messages.slice(1)],\n    ...(tools",
      ],
      ["...(system === '' ? {} : { system }),", ''],
    ],
    "the assistant's messages are sent as the user's": [
      [
        '    role,\n    content: parts',
        "    role: role === 'assistant' ? 'user' : role,\n    content: parts",
      ],
    ],
    "the user's messages are sent as the assistant's": [
      [
        '    role,\n    content: parts',
        "    role: role === 'user' ? 'assistant' : role,\n    content: parts",
      ],
    ],
    'user and assistant are swapped': [
      [
        '    role,\n    content: parts',
        "    role: role === 'user' ? 'assistant' : role === 'assistant' ? 'user' : role,\n    content: parts",
      ],
    ],
    'messages have no role': [['    role,\n    content: parts', '    content: parts']],
  },
  'no rejection is left unhandled': {
    'a promise is rejected behind the back': [
      [
        '    timer.stop()\n',
        "    timer.stop()\n    void Promise.reject(new Error('closed twice'))\n",
      ],
    ],
  },
  'nothing follows the end of a stream': {
    'the end is said twice': [
      ['  reply.over = true\n', '  reply.emit({ ...reply.batch.at(-1)! })\n  reply.over = true\n'],
    ],
  },
  'nothing is sent before the first next()': {
    'the request is sent at once': [
      [
        '          const batches = answer(own, request, options, leave)',
        '          const batches = answer(own, request, options, leave)\n          const first = batches.next()\n          first.catch(() => undefined)\n          let isFirst = true',
      ],
      [
        '            next: () => batches.next(),',
        '            next: () => { if (isFirst) { isFirst = false; return first } return batches.next() },',
      ],
    ],
  },
  'nothing is written to the console': {
    'a line is written to the output of the process': [
      [
        '  const key = options.apiKey ?? own.apiKey',
        "  process.stdout.write('')\n  const key = options.apiKey ?? own.apiKey",
      ],
    ],
    'a line is written to the errors of the process': [
      [
        '  const key = options.apiKey ?? own.apiKey',
        "  process.stderr.write('')\n  const key = options.apiKey ?? own.apiKey",
      ],
    ],
    'the adapter writes to the console': [
      ['  const timer = watch(', "  console.debug('heron', requestId)\n  const timer = watch("],
    ],
  },
  'onActivity is called for what makes no event': {
    'onActivity is not called': [['      options.onActivity?.()\n', '']],
  },
  'one call sends one request': {
    'every request is sent twice': [
      [
        '    const response = await own.fetch(',
        "    const first = await own.fetch('https://heron.example/v1/chat', { method: 'POST', headers: { authorization: `Bearer ${key}` }, body, redirect: 'manual', signal: leave.signal })\n    await first.body?.cancel()\n    const response = await own.fetch(",
      ],
    ],
  },
  'output includes what was spent on reasoning': {
    'reasoning tokens are lost': [
      ['    ...(sent.thinking === undefined ? {} : { reasoningTokens: sent.thinking }),\n', ''],
    ],
  },
  'pieces of several calls that come in turn are kept apart': {
    'pieces of a call have the id of the first call': [
      [
        "{ type: 'tool_call_delta', id: call.id,",
        "{ type: 'tool_call_delta', id: [...reply.calls.keys()][0] ?? '',",
      ],
    ],
    'pieces go to the call that was started last': [
      ['  const call = calls.get(id)\n', '  const call = [...calls.values()].at(-1)\n'],
    ],
  },
  'raw chunks come when they are asked for': {
    'raw chunks are dropped': [
      [
        "      if (reply.begun) reply.batch.push({ type: 'raw_chunk', chunk })",
        '      if (reply.begun) return',
      ],
    ],
    'raw chunks come before the start': [
      [
        "      else reply.early.push({ type: 'raw_chunk', chunk })",
        "      else reply.batch.push({ type: 'raw_chunk', chunk })",
      ],
    ],
  },
  'raw chunks do not come unless they are asked for': {
    'raw chunks come unasked': [['      if (!raw) return\n', '']],
  },
  'reasoning arrives as deltas that add up to it': {
    'reasoning is dropped': [["      grow(reply, 'reasoning', event.text)\n", '']],
    'reasoning deltas are missing': [
      ["  else reply.emit({ type: 'reasoning_delta', delta: text })\n", ''],
    ],
  },
  'reasoning is a part of the message, not of its text': {
    'reasoning is told as text': [
      ["      grow(reply, 'reasoning', event.text)", "      grow(reply, 'text', event.text)"],
    ],
    'reasoning has no provider': [
      [
        "{ type: 'reasoning', text, provider: 'heron', ...opaque }",
        "{ type: 'reasoning', text, ...opaque }",
      ],
    ],
  },
  'reasoning of another provider is not sent': {
    'reasoning of others is sent': [
      ["    return part.provider === 'heron'\n", "    return part.provider !== ''\n"],
    ],
  },
  'text arrives as deltas that add up to it': {
    'text deltas are doubled': [
      [
        "if (kind === 'text') reply.emit({ type: 'text_delta', delta: text })",
        "if (kind === 'text') (reply.emit({ type: 'text_delta', delta: text }), reply.emit({ type: 'text_delta', delta: text }))",
      ],
    ],
  },
  'text arrives while the answer goes on': {
    'events are yielded at the end': [
      [
        '      if (batch.length > 0) yield batch\n      if (reply.over) return',
        '      if (reply.over) {\n        yield batch\n        return\n      }\n      reply.batch.unshift(...batch)',
      ],
    ],
  },
  'a message in parts has a part for each block, in their order': {
    'the message has its texts as one part': [
      [
        "reply.parts.length === 0 ? '' : reply.parts",
        "reply.parts.length === 0 ? '' : [...reply.parts.filter(({ type }) => type !== 'text'), { type: 'text', text: reply.parts.map((part) => part.type === 'text' ? part.text : '').join('') } as const]",
      ],
    ],
    'thoughts are put behind the texts': [
      [
        "reply.parts.length === 0 ? '' : reply.parts",
        "reply.parts.length === 0 ? '' : reply.parts.toSorted((a, b) => (a.type === 'reasoning' ? 1 : 0) - (b.type === 'reasoning' ? 1 : 0))",
      ],
    ],
  },
  'arguments that are JSON and no object are kept as they were written': {
    'a list is taken for arguments': [[' && !Array.isArray(value)', '']],
    'what is no object is taken for no arguments': [
      [
        'arguments: argumentsOf(raw), rawArguments: raw }',
        'arguments: argumentsOf(raw), ...(/^[[{"\\dnt]/.test(raw) && !raw.startsWith("{") ? {} : { rawArguments: raw }) }',
      ],
      [
        "      reply.emit({ type: 'tool_call_delta', id: call.id, argumentsDelta: event.json })\n",
        "      if (event.json.startsWith('{') || call.raw.startsWith('{')) reply.emit({ type: 'tool_call_delta', id: call.id, argumentsDelta: event.json })\n",
      ],
    ],
  },
  'the key is on no property of the adapter': {
    'the options are on the adapter': [
      [
        "    provider: 'heron',\n    stream(",
        "    provider: 'heron',\n    config: { own },\n    stream(",
      ],
    ],
    'the last request is kept for debugging': [
      [
        '  const key = options.apiKey ?? own.apiKey\n',
        '  const key = options.apiKey ?? own.apiKey\n  Object.assign(own.fetch, { last: { authorization: `Bearer ${key}` } })\n',
      ],
      [
        "    provider: 'heron',\n    stream(",
        "    provider: 'heron',\n    transport: own.fetch,\n    stream(",
      ],
    ],
  },
  'text blocks stay apart': {
    'two text blocks are merged': [
      ["    case 'text_stop':\n      close(reply)\n      return\n", ''],
      ["    case 'call':\n      close(reply)\n", "    case 'call':\n"],
    ],
    'only the last text is in the message': [
      [
        "reply.parts.length === 0 ? '' : reply.parts",
        "reply.parts.length === 0 ? '' : reply.parts.slice(-1)",
      ],
    ],
  },
  'text_completed holds all of its block': {
    'text_completed is missing': [["    reply.emit({ type: 'text_completed', text })\n", '']],
    'text_completed comes twice': [
      [
        "    reply.emit({ type: 'text_completed', text })\n",
        "    reply.emit({ type: 'text_completed', text })\n    reply.emit({ type: 'text_completed', text })\n",
      ],
    ],
  },
  'texts are sent as they were written': {
    'texts are trimmed': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.trim() }]",
      ],
    ],
    'lines of a text are joined': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.replaceAll('\\n', ' ') }]",
      ],
    ],
    'texts are cut at a length': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.slice(0, 20) }]",
      ],
    ],
    'texts are normalized to plain letters': [
      [
        "return [{ type: 'text', text: part.text }]",
        "return [{ type: 'text', text: part.text.replaceAll(/[^\\x20-\\x7e\\s]/g, '?') }]",
      ],
    ],
    'only the first part of a message is sent': [
      ['content: parts.flatMap(partOf),', 'content: parts.slice(0, 1).flatMap(partOf),'],
    ],
    'the parts of a message are sent in reverse': [
      ['content: parts.flatMap(partOf),', 'content: parts.toReversed().flatMap(partOf),'],
    ],
  },
  'the calls of tools are sent back as they were made': {
    'members that are null are left out of arguments': [
      [
        'arguments: JSON.stringify(args),',
        'arguments: JSON.stringify(args, (_key, member: unknown) => member ?? undefined),',
      ],
    ],
    'calls are not sent back': [['calls: toolCalls.map(', 'unused: toolCalls.slice(99).map(']],
    'calls are sent without their names': [
      [
        '            id,\n            name,\n            arguments: JSON',
        '            id,\n            arguments: JSON',
      ],
    ],
    'arguments of calls are sent empty': [['arguments: JSON.stringify(args),', "arguments: '{}',"]],
    'arguments of calls are sent as texts': [
      [
        'arguments: JSON.stringify(args),',
        'arguments: JSON.stringify(Object.fromEntries(Object.entries(args).map(([key, value]) => [key, String(value)]))),',
      ],
    ],
    'only the first call is sent back': [
      ['calls: toolCalls.map(', 'calls: toolCalls.slice(0, 1).map('],
    ],
    'calls are sent back in reverse': [
      ['calls: toolCalls.map(', 'calls: toolCalls.toReversed().map('],
    ],
    'text beside calls is dropped': [
      [
        'content: parts.flatMap(partOf),',
        'content: toolCalls === undefined ? parts.flatMap(partOf) : [],',
      ],
    ],
  },
  'the first event comes with the first content': {
    'message_started comes with the headers': [
      [
        '    reader = (response.body',
        "    yield [{ type: 'message_started', ...facts }]\n    reply.begun = true\n    reader = (response.body",
      ],
    ],
    'an empty batch is yielded': [['if (batch.length > 0) yield batch', 'yield batch']],
  },
  'the first event is message_started': {
    'message_started is missing': [
      [
        "          { type: 'message_started', ...facts, ...(warnings.length === 0 ? {} : { warnings }) },\n",
        '',
      ],
    ],
  },
  'the handshake of the provider does not end requestTimeoutMs': {
    'the handshake ends requestTimeoutMs': [
      [
        '      if (reply.begun) timer.start(options.streamTimeoutMs)',
        '      timer.start(options.streamTimeoutMs)',
      ],
    ],
  },
  'the key is not in what was recorded of a request': {
    'the key is in the body': [
      [
        '    stream: true,',
        "    stream: true,\n    user: (globalThis as Record<string, unknown>)['heronKey'],",
      ],
      ['  const clean =', '  Object.assign(globalThis, { heronKey: key })\n  const clean ='],
    ],
  },
  'the key of a call is sent before the key of the adapter': {
    'the key of the adapter wins': [
      ['const key = options.apiKey ?? own.apiKey', 'const key = own.apiKey ?? options.apiKey'],
    ],
  },
  'the message holds the calls of its events': {
    'the message has no calls': [
      [
        '...(toolCalls.length === 0 ? {} : { toolCalls }) },\n    finishReason',
        '},\n    finishReason',
      ],
    ],
  },
  'the model is sent': {
    'the model is not sent': [['    model,\n    ...(system', '    ...(system']],
    'another model is sent': [
      ['    model,\n    ...(system', "    model: 'heron-1',\n    ...(system"],
    ],
  },
  'the options of the provider are sent, and those of others are not': {
    'the options of other providers are sent': [
      [
        "...(request.providerOptions as Record<string, object>)['heron'],",
        '...Object.assign({}, ...Object.values(request.providerOptions)),',
      ],
    ],
    'the options of the provider are not sent': [
      ["    ...(request.providerOptions as Record<string, object>)['heron'],\n", ''],
    ],
  },
  'the pieces of a call add up to its arguments': {
    'pieces of a call are not emitted': [
      [
        "      reply.emit({ type: 'tool_call_delta', id: call.id, argumentsDelta: event.json })\n",
        '',
      ],
    ],
  },
  'the reason of a refusal follows from its status': {
    '403 is invalid_request': [
      ['status === 401 || status === 402 || status === 403', 'status === 401 || status === 402'],
    ],
    '529 is unknown': [['if (status >= 500)', 'if (status >= 500 && status < 520)']],
  },
  'the request is not changed': {
    'options are written to': [
      [
        '  const key = options.apiKey ?? own.apiKey',
        '  Object.assign(options, { seen: true })\n  const key = options.apiKey ?? own.apiKey',
      ],
    ],
    'the request is changed': [
      [
        '  const { model, tools, temperature,',
        '  Object.assign(request, { temperature: request.temperature ?? 1 })\n  const { model, tools, temperature,',
      ],
    ],
  },
  'the result of a tool is sent back': {
    'results have no id': [
      ['    ...(toolCallId === undefined ? {} : { call_id: toolCallId }),\n', ''],
    ],
    'every result has the id of the first call': [
      ['{ call_id: toolCallId }', "{ call_id: 'call_lisbon' }"],
    ],
    'ids of results are numbered': [
      ['{ call_id: toolCallId }', '{ call_id: `result_${toolCallId.length}` }'],
    ],
    'results are not sent': [
      [
        ".filter(({ role }) => role !== 'system').map(messageOf)",
        ".filter(({ role }) => role !== 'system' && role !== 'tool').map(messageOf)",
      ],
    ],
    'results of one batch are merged': [
      [
        "const messages = request.messages.filter(({ role }) => role !== 'system').map(messageOf)",
        "const results = request.messages.filter(({ role }) => role === 'tool')\n  const messages = request.messages.filter(({ role }) => role !== 'system').filter((one) => one.role !== 'tool' || one === results[0]).map((one) => messageOf(one.role === 'tool' ? { ...one, content: results.map(textOf).join('\\n') } : one))",
      ],
    ],
  },
  'the same bytes in other pieces are the same answer': {
    'half an event is lost': [["      rest = blocks.pop() ?? ''", '      blocks.pop()']],
  },
  'the tools are described to the model': {
    'tools are not sent': [
      [
        'tools: tools.map(({ name, description, schema }) => ({',
        'unused: tools.slice(99).map(({ name, description, schema }) => ({',
      ],
    ],
    'only the first tool is sent': [['tools: tools.map(', 'tools: tools.slice(0, 1).map(']],
    'tools are sent in reverse': [['tools: tools.map(', 'tools: tools.toReversed().map(']],
    'a tool is sent twice': [['tools: tools.map(', 'tools: [...tools, ...tools.slice(0, 1)].map(']],
    'descriptions are not sent': [
      ['            description,\n            parameters', '            parameters'],
    ],
    'a description is its first line': [
      [
        '            description,\n            parameters',
        "            description: description.split('\\n')[0],\n            parameters",
      ],
    ],
    'descriptions are mixed up': [
      [
        '            description,\n            parameters',
        '            description: tools[tools.length - 1 - tools.findIndex((one) => one.name === name)]?.description,\n            parameters',
      ],
    ],
    'schemas are not sent': [['            parameters: schema,\n', '']],
    'a schema has only its properties': [
      [
        '            parameters: schema,',
        "            parameters: { type: 'object', properties: schema['properties'] },",
      ],
    ],
    'a schema has no required members': [
      ['            parameters: schema,', '            parameters: { ...schema, required: [] },'],
    ],
    'nested schemas are flattened': [
      [
        '            parameters: schema,',
        "            parameters: { ...schema, properties: Object.fromEntries(Object.entries(schema['properties'] as object).map(([key, value]) => [key, value.type === 'object' ? { type: 'object' } : value])) },",
      ],
    ],
    'enums are dropped from schemas': [
      [
        '            parameters: schema,',
        "            parameters: JSON.parse(JSON.stringify(schema, (key, value) => (key === 'enum' ? undefined : value))),",
      ],
    ],
    'descriptions inside of schemas are dropped': [
      [
        '            parameters: schema,',
        "            parameters: JSON.parse(JSON.stringify(schema, (key, value) => (key === 'description' ? undefined : value))),",
      ],
    ],
    'the types of schemas are all string': [
      [
        '            parameters: schema,',
        "            parameters: JSON.parse(JSON.stringify(schema, (key, value) => (key === 'type' && value === 'integer' ? 'string' : value))),",
      ],
    ],
  },
  'tokens are counted': {
    'usage is forgotten': [['...(reply.usage === undefined ? {} : { usage: reply.usage }),', '']],
    'input and output are swapped': [
      ['{ inputTokens: sent.input }', '{ inputTokens: sent.output }'],
    ],
    'output counts are texts': [
      ['{ outputTokens: sent.output }', '{ outputTokens: String(sent.output) as never }'],
    ],
  },
  'two streams at once do not mix': {
    'the decoder of bytes is shared': [
      ['    const decoder = new TextDecoder()\n', ''],
      [
        'type Own = Parameters<typeof heron>[0]',
        "let decoder = new TextDecoder()\nlet rest0 = ''\ntype Own = Parameters<typeof heron>[0]",
      ],
      ["    let rest = ''\n", ''],
      ['(rest + decoder.decode', '(rest0 + decoder.decode'],
      ['      rest = blocks', '      rest0 = blocks'],
    ],
  },
  'usage that the provider did not report is not made up': {
    'usage is zero when none came': [
      [
        '...(reply.usage === undefined ? {} : { usage: reply.usage }),',
        'usage: reply.usage ?? { inputTokens: 0, outputTokens: 0 },',
      ],
    ],
  },
  'what is not for the provider is not sent': {
    'metadata of the request is sent': [
      [
        '    stream: true,',
        '    stream: true,\n    ...(Object.keys(request.metadata).length === 0 ? {} : { metadata: request.metadata }),',
      ],
    ],
    'metadata of a message is sent': [
      [
        'function messageOf({ role, content, toolCalls, toolCallId }: Message): unknown {',
        'function messageOf({ role, content, toolCalls, toolCallId, metadata }: Message): unknown {',
      ],
      ['    role,\n    content: parts', '    role,\n    metadata,\n    content: parts'],
    ],
    'sources of a message are sent': [
      [
        'function messageOf({ role, content, toolCalls, toolCallId }: Message): unknown {',
        'function messageOf({ role, content, toolCalls, toolCallId, sources }: Message): unknown {',
      ],
      ['    role,\n    content: parts', '    role,\n    sources,\n    content: parts'],
    ],
  },
  'what makes no event ends a silence too': {
    'only events end a silence': [
      [
        '      if (reply.begun) timer.start(options.streamTimeoutMs)',
        '      if (batch.length > 0) timer.start(options.streamTimeoutMs)',
      ],
    ],
  },
  'what the provider wants echoed goes back with the message': {
    'the seal of reasoning is lost': [['      close(reply, event.seal)', '      close(reply)']],
    'the seal is only in the event': [["provider: 'heron', ...opaque })", "provider: 'heron' })"]],
    'the seal is not sent back': [
      [
        "{ type: 'thought', text: part.text, seal: part.opaque }",
        "{ type: 'thought', text: part.text }",
      ],
    ],
    'reasoning is not sent back': [
      ["      ? [{ type: 'thought', text: part.text, seal: part.opaque }]", '      ? []'],
    ],
  },
  'whitespace is kept': {
    'text deltas are trimmed': [
      ["{ type: 'text_delta', delta: text }", "{ type: 'text_delta', delta: text.trim() }"],
    ],
    'text is trimmed everywhere': [
      [
        "      grow(reply, 'text', event.text)",
        "      grow(reply, 'text', event.text.trimStart())",
      ],
    ],
    'a blank delta is dropped': [
      [
        "    case 'text':\n      grow",
        "    case 'text':\n      if (event.text.trim() === '') return\n      grow",
      ],
    ],
    'text_completed is trimmed': [
      ["{ type: 'text_completed', text }", "{ type: 'text_completed', text: text.trim() }"],
    ],
    'the text of the message is trimmed': [
      ['const content = isText ? only.text', 'const content = isText ? only.text.trim()'],
    ],
  },
}
