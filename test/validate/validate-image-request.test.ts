import { expect, test } from 'vitest'
import { imageRequest } from '../../src/make/requests.ts'
import { validateImageRequest } from '../../src/schema/validate.ts'
import type { Issue } from '../../src/types/error-data.ts'

const cat = { type: 'url', url: 'https://example.com/cat.png' } as const

const rows: readonly [string, object, readonly Issue[]][] = [
  ['a new image', imageRequest('a cat'), []],
  ['an edit of two', imageRequest('a hat', { inputImages: [cat, cat], mask: cat }), []],
  ['a variation', imageRequest(undefined, { operation: 'variation', inputImages: [cat] }), []],
  ['a size in words', imageRequest('x', { size: '1024x1024' }), []],
  [
    'no prompt',
    imageRequest(undefined),
    [{ path: 'prompt', problem: 'is needed to generate an image' }],
  ],
  [
    'an empty prompt',
    imageRequest('', { operation: 'edit', inputImages: [cat] }),
    [{ path: 'prompt', problem: 'is needed to edit an image' }],
  ],
  [
    'inputs to a new image',
    imageRequest('x', { operation: 'generate', inputImages: [cat] }),
    [{ path: 'inputImages', problem: 'must have none for generate, not 1' }],
  ],
  [
    'an edit of nothing',
    imageRequest('x', { operation: 'edit' }),
    [{ path: 'inputImages', problem: 'must have 1 to 16 for edit, not 0' }],
  ],
  [
    'a variation of two',
    imageRequest(undefined, { operation: 'variation', inputImages: [cat, cat] }),
    [{ path: 'inputImages', problem: 'must have exactly 1 for variation, not 2' }],
  ],
  [
    'a mask on a new image',
    imageRequest('x', { mask: cat }),
    [{ path: 'mask', problem: 'is for the operation edit only' }],
  ],
  [
    'no images at all',
    imageRequest('x', { n: 0 }),
    [{ path: 'n', problem: 'must be a positive integer, not 0' }],
  ],
  [
    'a size that is flat',
    imageRequest('x', { size: { width: 0, height: 8 } }),
    [{ path: 'size.width', problem: 'must be a positive integer, not 0' }],
  ],
  [
    'an input that is a path',
    { ...imageRequest('x', { operation: 'edit' }), inputImages: ['cat.png'] },
    [{ path: 'inputImages[0]', problem: 'must be an object, not "cat.png"' }],
  ],
  [
    'an operation of its own',
    { ...imageRequest('x'), operation: 'paint' },
    [{ path: 'operation', problem: 'must be one of generate, edit, variation, not "paint"' }],
  ],
]

test.each(rows)('%s', (_name, request, issues) => {
  expect(validateImageRequest(request)).toEqual(issues)
})
