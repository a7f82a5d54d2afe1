// Bundles the page of the inspector: page.js, page.css and index.html, minified. Nothing in them is fetched from elsewhere.
// usage: node scripts/bundle-page.mjs [FOLDER]
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const root = fileURLToPath(new URL('../', import.meta.url))

/** The files of the page by their names, as they are served. */
export async function pageFiles() {
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: [
      { in: 'src/apps/inspector/page/main.tsx', out: 'page' },
      { in: 'src/apps/inspector/page/page.css', out: 'page' },
    ],
    tsconfig: 'tsconfig.page.json',
    outdir: 'dist/inspector',
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: ['chrome111', 'firefox115', 'safari16.4'],
    charset: 'utf8',
    legalComments: 'none',
    banner: { js: licenceOf('preact') },
    write: false,
    logLevel: 'warning',
  })
  const text = (extension) => outputFiles.find(({ path }) => path.endsWith(extension))?.text ?? ''
  return {
    'page.js': text('.js'),
    'page.css': text('.css'),
    'index.html': readFileSync(join(root, 'src/apps/inspector/page/index.html'), 'utf8'),
  }
}

/** Writes the files of the page into a folder. */
export async function bundlePage(folder = join(root, 'dist/inspector')) {
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(await pageFiles()))
    writeFileSync(join(folder, name), text)
}

/** What a package that is part of the page wants to be said of it, as a comment. */
function licenceOf(name) {
  const text = readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim()
  return `/*! This file contains ${name}.\n\n${text.replaceAll('*/', '* /')}\n*/`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await bundlePage(process.argv[2])
