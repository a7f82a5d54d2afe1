// Cases for the rest of the library on the Fake: matrix-cases.mjs has the most important ones.
import {
  chat,
  createEngine,
  EngineError,
  fileFromBytes,
  findKey,
  generate,
  generateImage,
  imageFromBytes,
  imageFromFile,
  imagePart,
  Session,
  speak,
  streamChat,
  streamGenerate,
  streamSpeech,
  textDeltas,
  transcribe,
  user,
} from 'allm-ts'
import { connectMcp, serveMcp } from 'allm-ts/mcp'
import { record, replay, stringifyCassette } from 'allm-ts/middleware'
import { openai } from 'allm-ts/openai'
import { createRuns } from 'allm-ts/runs'
import { memoryStore } from 'allm-ts/stores'
import {
  crashAtEveryEvent,
  currentEngine,
  fake,
  fakeImages,
  fakeSpeech,
  fakeTranscription,
  virtualClock,
  withEngine,
} from 'allm-ts/testing'
import { resumeUiMessages, sendUiMessages, toAgUi } from 'allm-ts/ui'
import { rejection, same, sentEvents, until } from './check.mjs'
import { call, question, rounds, weather } from './fixtures.mjs'

const pixel = imageFromBytes(new Uint8Array([0x89, 0x50, 0x4e, 0x47]), 'image/png')

const engineFor = (...pieces) =>
  createEngine({ adapter: fake({ script: pieces.map((piece) => ['text', piece]) }) })

export const libraryCases = {
  'a stream yields text as it arrives': async () => {
    const pieces = []
    for await (const text of textDeltas(streamGenerate(engineFor('One, ', 'two.'), question))) {
      pieces.push(text)
    }
    same(pieces, ['One, ', 'two.'])
  },

  'arguments that do not match the schema do not reach the handler': async () => {
    const scripts = [[call('weather', { town: 'Ghent' })], [['text', 'Sorry.']]]
    const adapter = fake({ scripts })
    const { thread } = await chat(createEngine({ adapter, tools: [weather] }), question)
    same(thread.messages[2].content.includes('celsius'), false)
    adapter.assertDone()
  },

  'a run survives a cut after every one of its events': async () => {
    const { cuts, toolRuns } = await crashAtEveryEvent({
      scripts: rounds,
      tools: [weather],
      messages: question,
    })
    same([cuts > 5, toolRuns], [true, { weather: 1 }])
  },

  'a run is recorded and replayed': async () => {
    const recorder = record(fake({ scripts: rounds }), { redact: { names: ['city'] } })
    await chat(createEngine({ adapter: recorder, tools: [weather] }), question)
    const text = stringifyCassette(recorder.cassette)
    same(text.includes('21 degrees.') && !text.includes('\\"Ghent'), true)
    const player = replay(text)
    const again = await chat(createEngine({ adapter: player, tools: [weather] }), question)
    same(again.outputText, 'It is 21 degrees.')
    player.assertDone()
  },

  'a stored session can be loaded': async () => {
    const store = memoryStore()
    const session = Session.create({ messages: [user('hi')] })
    const version = await store.save(session)
    const loaded = await store.load(session.id)
    same([loaded.session, loaded.version], [session, version])
    same((await store.list()).length, 1)
  },

  'a run is served to pages of the AI SDK and of AG-UI': async () => {
    const runs = createRuns({ engine: engineFor('Hello', ', Ada.'), store: memoryStore() })
    const words = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
    const posted = await sendUiMessages(runs, 'ada', [words])
    same(
      (await posted.text()).includes('{"type":"text-delta","id":"text-1","delta":", Ada."}'),
      true,
    )
    const resumed = await resumeUiMessages(runs, 'ada')
    same((await resumed.text()).includes('"delta":"Hello, Ada."'), true)
    const types = []
    const stream = toAgUi(runs.follow('ada'), { threadId: 't', runId: 'r' }).getReader()
    for (;;) {
      const { done, value } = await stream.read()
      if (done) break
      types.push(value.type)
    }
    same([types[0], types.at(-1)], ['RUN_STARTED', 'RUN_FINISHED'])
    await runs.close()
  },

  'an abort ends a run at once and keeps the partial result': async () => {
    const adapter = fake({
      script: [
        ['text', 'One, '],
        ['delay', 60_000],
        ['text', 'two.'],
      ],
    })
    const controller = new AbortController()
    const events = []
    const options = { signal: controller.signal }
    for await (const event of streamGenerate(createEngine({ adapter }), question, options)) {
      events.push(event)
      if (event.type === 'text_delta') controller.abort()
    }
    same(events.at(-1).error.reason, 'cancelled')
    same(adapter.openStreams, 0)
  },

  'an abort of a promise keeps the partial result in the error': async () => {
    const adapter = fake({
      script: [
        ['text', 'One, '],
        ['delay', 60_000],
      ],
    })
    const { signal } = abortSoon(() => adapter.openStreams === 1)
    const error = await rejection(generate(createEngine({ adapter }), question, { signal }))
    same([error.reason, error.partial.outputText], ['cancelled', 'One, '])
  },

  'retries wait on the injected clock': async () => {
    const clock = virtualClock()
    const scripts = [
      [['preflight_error', 'rate_limited', { retryAfterMs: 20_000 }]],
      [['text', 'ok']],
    ]
    const engine = createEngine({ adapter: fake({ scripts }), clock, retry: { jitterMs: 0 } })
    same((await generate(engine, question)).outputText, 'ok')
    same(clock.now(), 20_000)
  },

  'toHttpResponse() returns a response of server-sent events': async () => {
    const engine = createEngine({ adapter: fake({ scripts: rounds }), tools: [weather] })
    const events = await sentEvents(streamChat(engine, question).toHttpResponse())
    same([events[0].type, events.at(-1).type], ['message_started', 'chat_completed'])
  },

  'cancelling the body of toHttpResponse() ends the run': async () => {
    const adapter = fake({
      script: [
        ['text', 'One, '],
        ['delay', 60_000],
        ['text', 'two.'],
      ],
    })
    const { body } = streamGenerate(createEngine({ adapter }), question).toHttpResponse()
    const reader = body.getReader()
    await reader.read()
    same(adapter.openStreams, 1)
    await reader.cancel()
    await until(() => adapter.openStreams === 0, 'the stream of the adapter is closed')
  },

  'toReadableStream() yields the events': async () => {
    const reader = streamGenerate(engineFor('hi'), question).toReadableStream().getReader()
    same((await reader.read()).value.type, 'message_started')
    await reader.cancel()
  },

  'the current engine follows asynchronous work': async () => {
    const engine = engineFor('hi')
    const found = await withEngine(engine, async () => {
      await Promise.resolve()
      return currentEngine()
    })
    same(found === engine, true)
  },

  'bytes become an image part of a message': async () => {
    const adapter = fake({ script: [['text', 'A pixel.']] })
    await generate(createEngine({ adapter }), [user([imagePart(pixel)])])
    same(adapter.calls[0].request.messages[0].content[0].image.base64, 'iVBORw==')
  },

  'images are generated': async () => {
    const engine = createEngine({ imageAdapter: fakeImages({ script: [['ok', [pixel]]] }) })
    same((await generateImage(engine, 'a pixel')).images, [pixel])
  },

  'a text is said, streamed and written down': async () => {
    const engine = createEngine({
      speechAdapter: fakeSpeech(),
      transcriptionAdapter: fakeTranscription(),
    })
    const said = await speak(engine, 'Grüße')
    same([said.mimeType, (await transcribe(engine, said)).text], ['audio/wav', 'Grüße'])
    const response = await streamSpeech(engine, 'Grüße').toHttpResponse()
    const bytes = new Uint8Array(await response.arrayBuffer())
    same(fileFromBytes(bytes, 'audio/wav').base64, said.base64)
  },

  'tools are served over MCP, and come back as tools': async () => {
    const handlers = new Map()
    const server = {
      registerCapabilities: () => undefined,
      getClientCapabilities: () => ({}),
      setRequestHandler: (method, handler) => handlers.set(method, handler),
    }
    serveMcp([weather], server)
    const send = (method) => (params) => handlers.get(method)({ params }, {})
    const client = {
      listTools: send('tools/list'),
      callTool: send('tools/call'),
      close: async () => undefined,
    }
    const connection = await connectMcp(async () => client, { prefix: 'mcp' })
    const scripts = [[call('mcp_weather', { city: 'Ghent' })], [['text', 'It is 21 degrees.']]]
    const engine = createEngine({ adapter: fake({ scripts }), tools: connection.tools })
    const { thread } = await chat(engine, question)
    same(thread.messages[2].content, '{"city":"Ghent","celsius":21}')
    await connection.close()
  },

  'a sealed session is read with its secret only': async () => {
    const session = Session.create({ id: 'sealed', messages: question })
    const sealed = await Session.seal(session, 'a secret of 22 letters')
    same(await Session.unseal(sealed, 'a secret of 22 letters'), session)
    same((await rejection(Session.unseal(sealed, 'another'))).name, 'SessionError')
  },

  'a missing key is a typed error, even where the environment cannot be read': async () => {
    same(findKey('nobody'), undefined)
    const engine = createEngine({ adapter: openai({ fetch: unreachable }), model: 'gpt-5-mini' })
    const error = await rejection(generate(engine, question))
    same([error instanceof EngineError, error.reason], [true, 'missing_key'])
  },

  'an image file that cannot be read is a typed error': async () => {
    const error = await rejection(imageFromFile('no-such-file.png'))
    same(error.name, 'ValidationError')
  },
}

function unreachable() {
  throw new Error('no request is expected')
}

function abortSoon(isTime) {
  const controller = new AbortController()
  until(isTime, 'the stream is open').then(
    () => controller.abort(),
    () => controller.abort(),
  )
  return controller
}
