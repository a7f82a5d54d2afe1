import { render } from 'preact'
import { App } from './app.tsx'
import { createClient } from './client.ts'
import { read, write } from './hooks.ts'
import { takeToken } from './route.ts'

const name = 'token'

// The token must not stay in the address: it would be copied with it.
const { token, rest } = takeToken(location.hash)
if (token !== undefined) {
  write(name, token)
  history.replaceState(null, '', rest === '' ? location.pathname + location.search : rest)
}
let known = token ?? read(name)

const client = createClient(new URL('.', location.href).href, () => known)
const place = document.querySelector('#page')
if (place !== null) {
  const onToken = (next: string): void => {
    known = next
    write(name, next)
  }
  render(<App client={client} onToken={onToken} />, place)
}
