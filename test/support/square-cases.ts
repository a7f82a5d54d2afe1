import { reportSteps, type CostCase } from './count-steps.ts'

/** Work that takes the square of a size, in each way that a counter could miss. */
const cases: readonly CostCase[] = [
  {
    name: 'a loop in a loop',
    size: 200,
    make: (n) => () => {
      let sum = 0
      for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) sum += j
      return sum
    },
  },
  {
    name: 'a list that is copied for each item',
    size: 200,
    make: (n) => () => {
      let list: readonly number[] = []
      // oxlint-disable-next-line oxc/no-accumulating-spread -- It is what is counted.
      for (let i = 0; i < n; i++) list = [...list, i]
      return list
    },
  },
  {
    name: 'an object that is copied for each member',
    size: 200,
    make: (n) => () => {
      let object: Record<string, number> = {}
      // oxlint-disable-next-line oxc/no-accumulating-spread -- It is what is counted.
      for (let i = 0; i < n; i++) object = { ...object, [`k${i}`]: i }
      return object
    },
  },
  {
    name: 'a text that is searched for each character',
    size: 200,
    make: (n) => () => {
      let text = ''
      for (let i = 0; i < n; i++) if (!text.includes('y')) text += 'x'
      return text
    },
  },
  {
    name: 'a text that is parsed for each character',
    size: 200,
    make: (n) => () => {
      let text = '['
      for (let i = 0; i < n; i++) {
        try {
          JSON.parse(text)
        } catch {
          text += ' '
        }
      }
      return text
    },
  },
  {
    name: 'a text that is matched for each character',
    size: 200,
    make: (n) => () => {
      let text = ''
      for (let i = 0; i < n; i++) text = text.replace(/y/g, 'z') + (/y|z/.test(text) ? 'y' : 'x')
      return text
    },
  },
  {
    name: 'a list that is searched for each item',
    size: 200,
    make: (n) => () => {
      const list: number[] = []
      for (let i = 0; i < n; i++) if (!list.includes(i)) list.push(i)
      return list
    },
  },
]

await reportSteps(cases, 2)
