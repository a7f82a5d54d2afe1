// An answer in a given format: requested, validated, and typed.
import { createEngine, generate, user } from 'allm-ts'
import { z } from 'zod'
import { choose } from './choose.ts'

const Book = z.object({ title: z.string(), author: z.string(), year: z.int() })

const engine = createEngine(
  choose([[['text', '{"title":"Emma","author":"Jane Austen","year":1815}']]]),
)

const { output } = await generate(engine, [user('Name a novel by Jane Austen.')], {
  responseFormat: Book,
})

console.log(`${output.title} by ${output.author}, ${new Date().getFullYear() - output.year > 200}`)
// => Emma by Jane Austen, true
