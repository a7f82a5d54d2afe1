/** What each table of growth is about, for its page and its plot. `lib/growth.mjs` measures them. */
export const tables = {
  requests: {
    title: 'A request: checked, rendered and sent, for each message in it',
    unit: 'CPU µs a message',
    size: 'messages in the thread',
  },
  history: {
    title: 'A step of a loop of 40 behind a history',
    unit: 'CPU µs a step',
    size: 'messages in the thread',
    level: 'a level line: the history costs nothing',
  },
  steps: { title: 'A chat of many steps', unit: 'CPU µs a step', size: 'steps' },
  calls: { title: 'Tool calls at once', unit: 'CPU µs a call', size: 'calls in one answer' },
  session: { title: 'A session as text', unit: 'CPU µs a message', size: 'messages' },
  stores: { title: 'Saving a session', unit: 'µs a message', size: 'messages in the session' },
  follow: { title: 'Following a run from its start', unit: 'µs an event', size: 'events' },
}
