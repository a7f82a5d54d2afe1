// Cases for runs that are served over HTTP: the server of the runtime answers with `toHttpResponse()`. One engine serves all requests.
import { createEngine, streamGenerate, user } from 'allm-ts'
import { fake } from 'allm-ts/testing'
import { same, sentEvents, until } from './check.mjs'

const greeting = [
  ['text', 'Hello, '],
  ['delay', 20],
  ['text', 'you.'],
]
const quick = fake({ scripts: [greeting, greeting, greeting] })
const endless = fake({
  script: [
    ['text', 'Hello, '],
    ['delay', 600_000],
    ['text', 'you.'],
  ],
})
const engines = {
  '/quick': createEngine({ adapter: quick }),
  '/endless': createEngine({ adapter: endless }),
}

/** The handler of the server. */
export function handle(request) {
  const engine = engines[new URL(request.url).pathname]
  return streamGenerate(engine, [user('hi')]).toHttpResponse()
}

/** The cases. They call a function that requests a path from the server. */
export function servedCases(get) {
  return {
    'served: a run arrives as server-sent events': async () => {
      same(textOf(await sentEvents(await get('/quick'))), 'Hello, you.')
    },

    'served: two concurrent requests have a run each': async () => {
      const answers = await Promise.all([get('/quick'), get('/quick')])
      const events = await Promise.all(answers.map((answer) => sentEvents(answer)))
      same(events.map(textOf), ['Hello, you.', 'Hello, you.'])
    },

    'served: a client that leaves ends its run': async () => {
      const { body } = await get('/endless')
      const reader = body.getReader()
      await reader.read()
      same(endless.openStreams, 1)
      await reader.cancel()
      await until(() => endless.openStreams === 0, 'the run is over')
    },
  }
}

function textOf(events) {
  return events.at(-1).message?.content
}
