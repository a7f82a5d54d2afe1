// The page: shows the state of a run, and sends what its buttons say. `connectRun` does the rest: it follows the run, reconnects, and
// finds everything again after a reload, because the address of the conversation is in the address of the page.
import { connectRun } from 'allm-ts/client'

const visitor = /(?:^|; )visitor=([\w-]+)/.exec(document.cookie)?.[1]
const newName = () => Math.random().toString(36).slice(2, 10)
if (location.hash === '') history.replaceState(null, '', `#${newName()}`)
addEventListener('hashchange', () => location.reload())

const run = connectRun({ url: `/runs/${visitor}.${location.hash.slice(1)}` })
const find = (selector) => document.querySelector(selector)
const [main, log, after, status] = ['main', '#log', '#after', '#status'].map(find)
const [form, input, send, stop] = ['form', 'textarea', '#send', '#stop'].map(find)

/** What a command said when it was refused, until the next one. */
let refused

/** Gives a command to the service. Its effect comes with the state; a refusal is shown. */
function command(promise, undo) {
  refused = undefined
  promise.then(render, ({ message }) => {
    refused = message
    undo?.()
    render()
  })
}

function say(text) {
  if (text.trim() === '') return
  write('')
  command(run.send(text), () => write(input.value || text))
}

function render() {
  const { state } = run
  const isAtEnd = main.scrollHeight - main.scrollTop - main.clientHeight < 80
  status.textContent = statusText(state)
  find('#empty').hidden = state.messages.length > 0 || !state.loaded
  renderMessages(state)
  renderCards(state)
  send.hidden = state.running
  stop.hidden = !state.running
  send.disabled = input.value.trim() === ''
  if (isAtEnd) main.scrollTop = main.scrollHeight
}

function statusText({ loaded, error, running, status, pendingQuestion }) {
  if (error?.kind === 'connection') return 'Not connected'
  if (!loaded) return 'Connecting …'
  if (running) return 'Writing …'
  if (pendingQuestion || status === 'awaiting_approval') return 'Waiting for you'
  if (status === 'awaiting_tools') return 'Waiting for a colleague'
  return status === 'halted' || status === 'error' ? 'Interrupted' : 'Ready'
}

/** The elements of the messages, and what they show: a new state shares what did not change, so only the rest is drawn. */
const drawn = new Map()

function renderMessages({ messages, tools, running, pendingQuestion, pendingApprovals }) {
  // What waits for the user has a card.
  const waiting = new Set([pendingQuestion?.toolCallId, ...pendingApprovals.map(({ id }) => id)])
  for (const [id, { element }] of drawn) {
    if (messages.some((message) => message.id === id)) continue
    element.remove()
    drawn.delete(id)
  }
  messages.forEach((message, index) => {
    const calls = tools.filter(({ id, messageId }) => messageId === message.id && !waiting.has(id))
    const isWritten = running && message.partial === true
    const parts = [message, isWritten, ...calls]
    const known = drawn.get(message.id)
    const element = known?.element ?? make('div')
    if (
      !known ||
      parts.length !== known.parts.length ||
      parts.some((part, at) => part !== known.parts[at])
    ) {
      element.className = `message ${message.role}${isWritten ? ' writing' : ''}`
      const text = element.firstChild ?? make('div', 'text')
      if (text.textContent !== message.text) text.textContent = message.text
      element.replaceChildren(text, ...calls.map((call) => chip(call, running)))
      drawn.set(message.id, { element, parts })
    }
    if (log.children[index] !== element) log.insertBefore(element, log.children[index] ?? null)
  })
}

/** A tool call: whether it runs or how it ended, and how far it is. */
function chip({ name, ok, denied, interrupted, progress }, running) {
  const label = titleOf(name)
  if (ok === true) return make('div', 'tool done', icon('✓'), make('span', 'label', label))
  if (ok === false) {
    const why = denied ? 'declined' : interrupted ? 'stopped' : 'failed'
    return make('div', 'tool failed', icon('✕'), make('span', 'label', `${label}: ${why}`))
  }
  if (!running) return make('div', 'tool waits', icon('…'), make('span', 'label', label))
  const chip = make('div', 'tool runs', icon(''), make('span', 'label', progress?.text ?? label))
  if (progress?.of > 0) {
    const bar = make('progress')
    bar.max = progress.of
    bar.value = progress.done
    chip.append(bar)
  }
  return chip
}

let drawnCards = ''

/** Below the messages is what the user has to know or to decide. */
function renderCards({ running, status, error, pendingQuestion, pendingApprovals }) {
  const shown = { running, status, error, pendingQuestion, pendingApprovals, refused }
  if (JSON.stringify(shown) === drawnCards) return
  drawnCards = JSON.stringify(shown)
  after.replaceChildren(...cards(shown))
}

function cards({ running, status, error, pendingQuestion, pendingApprovals, refused }) {
  const list = []
  if (pendingQuestion) {
    const { question, options } = pendingQuestion
    const choices = (options.choices ?? []).map((choice) => button(choice, () => say(choice)))
    list.push(
      make('div', 'card question', make('h2', '', question), make('div', 'buttons', ...choices)),
    )
  }
  for (const { id, name, arguments: args = {} } of pendingApprovals) {
    const title = make('h2', '', `${titleOf(name)}?`)
    const facts = Object.entries(args).flatMap(([key, value]) => [
      make('dt', '', key.replaceAll('_', ' ')),
      make('dd', '', typeof value === 'string' ? value : JSON.stringify(value)),
    ])
    const yes = button('Approve', () => command(run.approve(id)))
    yes.className = 'primary'
    const no = button('Decline', () => command(run.deny(id)))
    list.push(
      make(
        'div',
        'card approval',
        title,
        make('dl', '', ...facts),
        make('div', 'buttons', yes, no),
      ),
    )
  }
  if (error?.kind === 'connection') {
    const isTriedAgain = error.reason === 'unreachable' || error.reason === 'unavailable'
    const text = isTriedAgain ? 'The connection is lost. Trying again …' : error.message
    list.push(make('div', 'notice', text))
  } else if (status === 'error' && !running) {
    const text = `This did not work (${error?.reason.replaceAll('_', ' ') ?? 'error'}).`
    list.push(
      make(
        'div',
        'notice bad',
        text,
        button('Try again', () => command(run.resume())),
      ),
    )
  } else if (status === 'halted' && !running) {
    list.push(
      make(
        'div',
        'notice',
        'Stopped.',
        button('Go on', () => command(run.resume())),
      ),
    )
  }
  if (refused !== undefined) list.push(make('div', 'notice bad', refused))
  return list
}

function titleOf(name) {
  return name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' ')
}

function make(tag, className = '', ...children) {
  const element = document.createElement(tag)
  if (className !== '') element.className = className
  element.append(...children)
  return element
}

function icon(text) {
  return make('span', 'icon', text)
}

/** A button that works once: its effect is another state. */
function button(text, action) {
  const element = make('button', '', text)
  element.type = 'button'
  element.addEventListener('click', () => {
    for (const other of element.parentElement.querySelectorAll('button')) other.disabled = true
    action()
  })
  return element
}

function write(text) {
  input.value = text
  grow()
}

function grow() {
  input.style.height = 'auto'
  input.style.height = `${input.scrollHeight}px`
  send.disabled = input.value.trim() === ''
}

form.addEventListener('submit', (event) => {
  event.preventDefault()
  say(input.value)
})
input.addEventListener('input', grow)
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
  if (!run.state.running) say(input.value)
})
stop.addEventListener('click', () => command(run.stop()))
find('#new').addEventListener('click', () => (location.hash = newName()))
for (const suggestion of document.querySelectorAll('#empty button')) {
  suggestion.addEventListener('click', () => say(suggestion.textContent))
}
run.subscribe(render)
render()
