// Assertions that do not depend on a test library, because they have to run in every runtime.

/** Fails unless both are the same JSON. */
export function same(received, expected) {
  const [left, right] = [JSON.stringify(received), JSON.stringify(expected)]
  if (left !== right) throw new Error(`expected ${right}, received ${left}`)
}

/** The error that a promise rejects with; fails when it does not. */
export async function rejection(promise) {
  const [value, error] = await promise.then(
    (given) => [given, undefined],
    (thrown) => [undefined, thrown],
  )
  if (error === undefined)
    throw new Error(`expected a rejection, received ${JSON.stringify(value)}`)
  return error
}

/** Polls until a condition is true; gives up after half a minute, because the machine may be busy. */
export async function until(isTrue, what) {
  for (let tries = 0; tries < 6000; tries++) {
    if (isTrue()) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error(`timed out waiting until ${what}`)
}

/** The `data` of a response of server-sent events, as objects. */
export async function sentEvents(response) {
  same(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  const text = await response.text()
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(block.slice(block.indexOf('data: ') + 6)))
}
