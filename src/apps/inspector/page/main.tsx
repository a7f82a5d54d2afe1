import { render } from 'preact'
import { App } from './app.tsx'
import { createClient } from './client.ts'
import { takeToken } from './route.ts'
import { keepToken } from './token.ts'

// The token must not stay in the address: it would be copied with it.
const { token: given, rest } = takeToken(location.hash)
if (given !== undefined) {
  history.replaceState(null, '', rest === '' ? location.pathname + location.search : rest)
}

const base = new URL('.', location.href).href
const token = keepToken(base, given)
const client = createClient(base, token.current)
const place = document.querySelector('#page')
if (place !== null) render(<App client={client} token={token} />, place)
