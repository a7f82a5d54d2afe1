import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Chat } from '@ai-sdk/react'
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai'
import { expect, test } from 'vitest'
import { root } from '../support/root.ts'

test('npm run example use-chat sells a ticket to the real Chat of the AI SDK', async () => {
  const child = spawn(process.execPath, [join(root, 'scripts/example.mjs'), 'use-chat'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], PORT: '0', CHAT_PACE_MS: '0' },
  })
  const exit = once(child, 'exit')
  try {
    let url = ''
    for await (const line of createInterface(child.stdout)) {
      url = /http:\/\/[\w.:]+/.exec(line)?.[0] ?? ''
      if (url !== '') break
    }
    expect(await (await fetch(url)).text()).toContain('<title>useChat on allm-ts</title>')
    expect(await (await fetch(`${url}/page.js`)).text()).not.toMatch(/^import /m)
    expect((await fetch(`${url}/api/chat/guessed`)).status).toBe(403)
    const id = randomUUID()
    const transport = new DefaultChatTransport({ api: `${url}/api/chat` })
    const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses
    const chat = new Chat<UIMessage>({ id, transport, sendAutomaticallyWhen })
    await chat.sendMessage({ text: 'A train to Ghent' })
    expect(chat.lastMessage?.parts.at(-1)).toMatchObject({
      type: 'data-question',
      data: { options: { choices: ['Window', 'Aisle', 'Table'] } },
    })
    await chat.sendMessage({ text: 'Aisle' })
    // A page that is opened elsewhere decides.
    const saved = (await (await fetch(`${url}/api/chat/${id}`)).json()) as { messages: UIMessage[] }
    const other = new Chat<UIMessage>({
      id,
      transport,
      messages: saved.messages,
      sendAutomaticallyWhen,
    })
    // Its id is the ticket of what the page shows.
    const approvals = other.lastMessage?.parts.flatMap((part) =>
      'approval' in part && part.approval !== undefined ? part.approval.id : [],
    )
    expect(approvals).toHaveLength(1)
    await other.addToolApprovalResponse({ id: approvals?.[0] ?? '', approved: true })
    while (other.status !== 'ready' || other.lastMessage?.parts.at(-1)?.type !== 'text') {
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(other.error).toBeUndefined()
    expect(other.lastMessage?.parts.at(-1)).toMatchObject({
      text: 'It is booked. Your ticket is on its way to you. Have a good trip!',
    })
  } finally {
    child.kill('SIGTERM')
    await exit
  }
})
