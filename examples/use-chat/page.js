// What `useChat` of React, Vue, Svelte and Angular does, without a framework: they all are `AbstractChat` of the AI SDK with a state of their own.
import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from 'ai'

// The address names the conversation, so a reload comes back to it.
const id = location.hash.slice(1) || crypto.randomUUID()
location.hash = id
const { messages, running } = await (await fetch(`/api/chat/${id}`)).json()

/** The state of the chat: every change of it is shown. */
const state = {
  status: 'ready',
  error: undefined,
  messages,
  pushMessage: (message) => set('messages', [...state.messages, message]),
  popMessage: () => set('messages', state.messages.slice(0, -1)),
  replaceMessage: (index, message) =>
    set('messages', state.messages.with(index, structuredClone(message))),
  snapshot: (value) => structuredClone(value),
}
function set(name, value) {
  state[name] = value
  show()
}
const watched = new Proxy(state, {
  set: (_state, name, value) => {
    set(name, value)
    return true
  },
})
class Chat extends AbstractChat {}
const chat = new Chat({
  id,
  state: watched,
  transport: new DefaultChatTransport(),
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
})

const list = document.querySelector('#messages')
const form = document.querySelector('form')
form.addEventListener('submit', (event) => {
  event.preventDefault()
  const { value } = form.elements.text
  if (value === '') return
  form.reset()
  chat.sendMessage({ text: value }).catch(console.error)
})
// `chat.stop` leaves: the answer goes on. The server stops it, for every page.
const stop = document.querySelector('#stop')
stop.addEventListener('click', () => {
  fetch(`/api/chat/${id}/stop`, { method: 'POST' }).catch(console.error)
})

function show() {
  list.replaceChildren(
    ...state.messages.flatMap(({ role, parts }, index) =>
      parts.flatMap((part) => shown(role, part, index === state.messages.length - 1)),
    ),
    ...(state.error ? [element('p', 'error', state.error.message)] : []),
  )
  // One thing at a time: what is clicked during an answer would be sent beside it.
  const isBusy = state.status === 'submitted' || state.status === 'streaming'
  for (const button of document.querySelectorAll('#send, #messages button')) {
    button.disabled = isBusy
  }
}

function shown(role, part, isLast) {
  if (part.type === 'text') return [element('p', role, part.text)]
  if (part.type === 'data-question') {
    const { question, options, answer } = part.data
    // A question that was answered stays, without its buttons.
    const isOpen = isLast && answer === undefined
    const choices = (isOpen ? (options.choices ?? []) : []).map((text) =>
      element('button', 'choice', text, () => chat.sendMessage({ text })),
    )
    return [element('p', 'question', question), ...choices]
  }
  if (part.toolCallId === undefined) return []
  const call = element(
    'p',
    'call',
    `${part.type.slice(5)} ${JSON.stringify(part.input)}: ${part.state}`,
  )
  if (part.state !== 'approval-requested') return [call]
  const decide = (approved) => () =>
    chat.addToolApprovalResponse({ id: part.approval.id, approved })
  return [
    call,
    element('button', 'yes', 'Approve', decide(true)),
    element('button', 'no', 'Deny', decide(false)),
  ]
}

function element(tag, className, text, onclick = null) {
  return Object.assign(document.createElement(tag), { className, textContent: text, onclick })
}

show()
// The stream of a run that goes on replaces what the page has of its answer.
if (running) await chat.resumeStream()
