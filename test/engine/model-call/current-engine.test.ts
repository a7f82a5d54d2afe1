import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, test } from 'vitest'
import { asyncScope, stackScope } from '../../../src/engine/model-call/current-engine.ts'
import {
  createEngine,
  currentEngine,
  EngineError,
  setEngine,
  unsetEngine,
  withEngine,
  type Engine,
} from '../../../src/index.ts'
import { fake, virtualClock } from '../../../src/testing.ts'
import * as testing from '../../../src/testing.ts'

const engine = (model: string): Engine => createEngine({ adapter: fake(), model })

describe('the current engine', () => {
  test('outside of withEngine there is no engine, and the error says what to do', () => {
    expect(() => currentEngine()).toThrow(EngineError)
    expect(() => currentEngine()).toThrow(
      /inside withEngine\(engine, work\), pass a fallback, .* or pass the engine/,
    )
  })

  test('inside it is the given engine, and withEngine returns the result of the work', () => {
    const given = engine('a')
    expect(withEngine(given, () => currentEngine())).toBe(given)
    expect(() => currentEngine()).toThrow(EngineError)
  })

  test('the innermost counts', () => {
    const [outer, inner] = [engine('outer'), engine('inner')]
    withEngine(outer, () => {
      expect(withEngine(inner, () => currentEngine())).toBe(inner)
      expect(currentEngine()).toBe(outer)
    })
  })

  test('work that is fanned out sees the engine of the test', async () => {
    const given = engine('a')
    const clock = virtualClock()
    const worker = async (ms: number): Promise<Engine> => {
      await clock.sleep(ms)
      return currentEngine()
    }
    const seen = await withEngine(given, () => Promise.all([worker(30), worker(10), worker(20)]))
    expect(seen).toEqual([given, given, given])
  })

  test('concurrent tests do not see each other’s', async () => {
    const clock = virtualClock()
    const run = (model: string, ms: number): Promise<string | undefined> =>
      withEngine(engine(model), async () => {
        await clock.sleep(ms)
        await clock.sleep(ms)
        return currentEngine().model
      })
    expect(await Promise.all([run('a', 30), run('b', 10), run('c', 20)])).toEqual(['a', 'b', 'c'])
  })

  test('a failure passes through', async () => {
    const failing = withEngine(engine('a'), () => Promise.reject(new Error('mine')))
    await expect(failing).rejects.toThrow('mine')
    expect(() =>
      withEngine(engine('a'), () => {
        throw new Error('mine too')
      }),
    ).toThrow('mine too')
  })
})

describe.each([
  ['with AsyncLocalStorage', () => asyncScope(new AsyncLocalStorage<Engine>())],
  ['without AsyncLocalStorage', stackScope],
])('a runtime %s', (_name, newScope) => {
  test('keeps the engine until work that is awaited has settled', async () => {
    const scope = newScope()
    const given = engine('a')
    await scope.run(given, async () => {
      await Promise.resolve()
      expect(scope.current()).toBe(given)
    })
    await expect(scope.run(given, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine')
    await Promise.resolve()
    expect(scope.current()).toBeUndefined()
  })

  test('forgets the engine when the work returns or throws', () => {
    const scope = newScope()
    scope.run(engine('a'), () => undefined)
    expect(() =>
      scope.run(engine('b'), () => {
        throw new Error('mine')
      }),
    ).toThrow('mine')
    expect(scope.current()).toBeUndefined()
  })

  test('keeps engines apart that are left in another order than they were entered', async () => {
    const scope = newScope()
    const clock = virtualClock()
    const first = scope.run(engine('a'), () => clock.sleep(10))
    const second = scope.run(engine('b'), () => clock.sleep(20))
    await first
    await second
    await Promise.resolve()
    expect(scope.current()).toBeUndefined()
  })
})

describe('application code', () => {
  test('passes its own engine as the fallback, and a test replaces it', () => {
    const [own, tested, set] = [engine('own'), engine('tested'), engine('set')]
    const used = (): Engine => currentEngine(own)
    expect(used()).toBe(own)
    expect(withEngine(tested, used)).toBe(tested)
    setEngine(set)
    expect(used()).toBe(set)
    expect(withEngine(tested, used)).toBe(tested)
    unsetEngine()
    expect(used()).toBe(own)
  })

  test('and a test that imports from allm-ts/testing mean the same engine', () => {
    const tested = engine('tested')
    expect(testing.withEngine(tested, () => currentEngine())).toBe(tested)
  })
})
