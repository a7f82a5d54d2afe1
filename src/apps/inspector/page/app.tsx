import type { JSX } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { InspectorInfo } from '../api.ts'
import { InspectorRefusal, type Client, type TabAccess } from './client.ts'
import { CompareView } from './compare-view.tsx'
import { describe, read, useKeys, useMedia, write } from './hooks.ts'
import { firstLine } from './hostile.ts'
import { Dialog } from './parts.tsx'
import { parseRoute, routeFragment, type Route } from './route.ts'
import { RunView } from './run-view.tsx'
import { SessionsView } from './sessions-view.tsx'
import type { TokenKeeper } from './token.ts'

/** The whole page. */
export function App({ client, token }: { client: Client; token: TokenKeeper }): JSX.Element {
  const [route, go] = useRoute()
  const [info, setInfo] = useState<(InspectorInfo & TabAccess) | undefined>(undefined)
  const [failure, setFailure] = useState<unknown>(undefined)
  const [attempt, setAttempt] = useState(0)
  const [isHelp, setHelp] = useState(false)
  const isKnown = useRef(false)
  useEffect(() => token.subscribe(() => setAttempt((count) => count + 1)), [token])
  useEffect(() => {
    client.info().then(
      (got) => {
        // A tab that may only read shows nothing that it could not do.
        setInfo(got.isReader ? { ...got, readOnly: true } : got)
        if (!got.isReader) token.prove()
        // The only session of a file is what one came for.
        if (
          got.single !== undefined &&
          parseRoute(location.hash).view === 'list' &&
          !isKnown.current
        ) {
          go({ view: 'run', id: got.single }, true)
        }
        isKnown.current = true
        setFailure(undefined)
      },
      (error: unknown) => setFailure(error),
    )
  }, [client, token, attempt, go])
  useKeys((key) => {
    if (key !== '?') return false
    setHelp(true)
    return true
  })
  useEffect(() => {
    document.title = titleOf(route, info)
  }, [route, info])
  return (
    <>
      <header class="top">
        <a class="home" href="#/" aria-label="Sessions">
          <span class="logo" aria-hidden="true" />
          Inspector
        </a>
        {info !== undefined && <span class="name">{firstLine(info.name, 120)}</span>}
        {info?.isReader === true && <ReaderBadge onToken={token.set} />}
        {info?.readOnly === true && !info.isReader && <span class="badge quiet">read-only</span>}
        <span class="space" />
        <button type="button" class="quiet" onClick={() => setHelp(true)} aria-label="Keys">
          ?
        </button>
        <ThemeSwitch />
      </header>
      {failure !== undefined && <Refused failure={failure} onToken={token.set} />}
      {info !== undefined && <View client={client} info={info} route={route} go={go} />}
      {isHelp && <Help onClose={() => setHelp(false)} />}
    </>
  )
}

function View({
  client,
  info,
  route,
  go,
}: {
  client: Client
  info: InspectorInfo
  route: Route
  go: (route: Route, replace: boolean) => void
}): JSX.Element {
  switch (route.view) {
    case 'list':
      return <SessionsView client={client} route={route} onRoute={go} />
    case 'run':
      return <RunView key={route.id} client={client} info={info} route={route} onRoute={go} />
    case 'compare':
      return <CompareView client={client} left={route.left} right={route.right} />
  }
}

/** The place that the address names. Going somewhere changes the address. */
function useRoute(): readonly [Route, (route: Route, replace: boolean) => void] {
  const [route, setRoute] = useState(() => parseRoute(location.hash))
  useEffect(() => {
    const listen = (): void => setRoute(parseRoute(location.hash))
    addEventListener('hashchange', listen)
    addEventListener('popstate', listen)
    return () => {
      removeEventListener('hashchange', listen)
      removeEventListener('popstate', listen)
    }
  }, [])
  const go = useCallback((next: Route, replace: boolean) => {
    const fragment = routeFragment(next)
    if (replace) history.replaceState(null, '', fragment)
    else history.pushState(null, '', fragment)
    setRoute(next)
  }, [])
  return [route, go]
}

function titleOf(route: Route, info: InspectorInfo | undefined): string {
  const place =
    route.view === 'run' ? route.id : route.view === 'compare' ? route.right : info?.name
  return place === undefined ? 'Inspector' : `${firstLine(place, 60)} · Inspector`
}

function Refused({
  failure,
  onToken,
}: {
  failure: unknown
  onToken: (token: string) => void
}): JSX.Element {
  const { status } = failure instanceof InspectorRefusal ? failure : {}
  const isUnknown = status === 401 || status === 403
  return (
    <main class="refused">
      <p class="failure" role="alert">
        {describe(failure)}
      </p>
      {isUnknown && (
        <p class="quiet-text">
          A page of <code>npx allm-ts inspect</code> needs the token, which is in the address that
          it has printed in the terminal. For any other page, log in to the service that shows it,
          and load it again.
        </p>
      )}
      {status === 0 && (
        <p class="quiet-text">It may have been stopped: start it again, and then try again.</p>
      )}
      {isUnknown ? (
        <TokenForm onToken={onToken} />
      ) : (
        <button type="button" onClick={() => location.reload()}>
          Try again
        </button>
      )}
    </main>
  )
}

function TokenForm({ onToken }: { onToken: (token: string) => void }): JSX.Element {
  const [token, setToken] = useState('')
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault()
        onToken(token)
      }}
    >
      <input
        type="password"
        value={token}
        aria-label="Token"
        placeholder="Token"
        onInput={(event) => setToken(event.currentTarget.value)}
      />
      <button type="submit" class="primary">
        Open
      </button>
    </form>
  )
}

/** Says that this tab may only read, and how it may do more. */
function ReaderBadge({ onToken }: { onToken: (token: string) => void }): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="badge person" onClick={() => setOpen(true)}>
        this tab only reads
      </button>
      {isOpen && (
        <Dialog title="This tab only reads" onClose={() => setOpen(false)}>
          <p class="text">
            To send messages, decide, stop and fork, open this page from a tab that can, or give the
            token. It is in the address that <code>npx allm-ts inspect</code> has printed in the
            terminal.
          </p>
          <TokenForm onToken={onToken} />
        </Dialog>
      )}
    </>
  )
}

const themes = ['system', 'light', 'dark'] as const
const themeSigns: Readonly<Record<(typeof themes)[number], string>> = {
  system: '◐',
  light: '☀',
  dark: '☾',
}

function ThemeSwitch(): JSX.Element {
  const [theme, setTheme] = useState<(typeof themes)[number]>(
    () => themes.find((name) => name === read('theme')) ?? 'system',
  )
  const isDark = useMedia('(prefers-color-scheme: dark)')
  useLayoutEffect(() => {
    const wanted = theme === 'system' ? (isDark ? 'dark' : 'light') : theme
    document.documentElement.dataset['theme'] = wanted
    write('theme', theme)
  }, [theme, isDark])
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? 'system'
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`Colours: ${theme}. Change to ${next}`}
      title={`Colours: ${theme}`}
      onClick={() => setTheme(next)}
    >
      {themeSigns[theme]}
    </button>
  )
}

const keys: readonly (readonly [string, string])[] = [
  ['/', 'search the list'],
  ['j k ↑ ↓', 'next and previous session, or event'],
  ['← →', 'previous and next event'],
  ['[ ]', 'previous and next step, without the pieces of answers'],
  ['g G', 'first event, and the end'],
  ['p', 'play'],
  ['f', 'fork here'],
  ['1 2 3 4 5', 'the tabs of a run'],
  ['Esc', 'close, or go back to the end'],
  ['?', 'these keys'],
]

function Help({ onClose }: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {keys.map(([name, what]) => (
          <div key={name}>
            <dt>
              {name.split(' ').map((part) => (
                <kbd key={part}>{part}</kbd>
              ))}
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
