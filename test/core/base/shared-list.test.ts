import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  itemAt,
  itemsOf,
  noItems,
  placeOf,
  sharedList,
  withItem,
  withKeyed,
  type SharedList,
} from '../../../src/core/base/shared-list.ts'

const keyOf = (item: number): string => String(item % 7)

test('it has the items of a list that is copied for every change, and lists before a change stay as they are', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(), fc.nat(50), fc.boolean()), { maxLength: 200 }),
      fc.nat(1100),
      (changes, length) => {
        const start = Array.from({ length }, (_, index) => index)
        let list = sharedList(start)
        let plain: readonly number[] = start
        const before: [SharedList<number>, readonly number[]][] = []
        for (const [place, item, adds] of changes) {
          before.push([list, plain])
          const at = adds ? plain.length : place % (plain.length + 1)
          list = item % 2 === 0 ? withItem(list, at, item) : withKeyed(list, at, item, keyOf)
          plain = Object.assign([...plain], { [at]: item })
        }
        for (const [made, wanted] of [...before.slice(-20), [list, plain] as const]) {
          expect(itemsOf(made)).toEqual(wanted)
          expect(made.length).toBe(wanted.length)
          expect(itemAt(made, wanted.length - 1)).toBe(wanted.at(-1))
        }
      },
    ),
    { numRuns: 200 },
  )
})

test('an item is found by its key, in every list that was ever made', () => {
  let list: SharedList<string> = noItems
  const lists: SharedList<string>[] = []
  const key = (item: string): string => item.slice(0, 1)
  for (const item of ['a1', 'b1', 'c1', 'a2']) {
    list = withKeyed(list, list.length, item, key)
    lists.push(list)
  }
  expect(placeOf(list, 'a', key)).toBe(3)
  expect(lists.map((made) => placeOf(made, 'a', key))).toEqual([0, 0, 0, 3])
  expect(lists.map((made) => placeOf(made, 'c', key))).toEqual([undefined, undefined, 2, 2])
  const [first = noItems] = lists
  const other = withKeyed(first, 1, 'z1', key)
  expect([placeOf(other, 'z', key), placeOf(other, 'b', key)]).toEqual([1, undefined])
  expect(placeOf(list, 'b', key)).toBe(1)
})
