import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import ts from 'typescript-6'
import { root } from './root.ts'

/** One file of `src/`. */
export interface SourceFile {
  /** From `src/`, such as `core/types/message.ts`. */
  readonly path: string
  /** The folder, such as `core/types` or `middleware`; empty for an entry point. */
  readonly folder: string
  readonly text: string
  /** Its imports and re-exports: files as paths from `src/`, other specifiers unchanged. Type imports count. */
  readonly imports: readonly string[]
}

/** Every source file. */
export const sourceFiles: readonly SourceFile[] = filesUnder('src').map((path) => {
  const text = readFileSync(join(root, 'src', path), 'utf8')
  return { path, folder: folderOf(path), text, imports: importsOf(path, text) }
})

/** The paths of the TypeScript files under a folder, from that folder. */
export function filesUnder(folder: string): readonly string[] {
  const base = join(root, folder)
  if (!existsSync(base)) return []
  return readdirSync(base, { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted()
}

/** The floor and the folder on it. Deeper folders belong to the folder that they are in, except for the page of the inspector. */
export function folderOf(path: string): string {
  if (path.startsWith('apps/inspector/page/')) return 'apps/inspector/page'
  return path.split('/').slice(0, -1).slice(0, 2).join('/')
}

/** Scans for imports without parsing, which is ten times faster. */
function importsOf(path: string, text: string): readonly string[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.map(({ fileName }) =>
      fileName.startsWith('.') ? posix.join(posix.dirname(path), fileName) : fileName,
    )
}

const trees = new Map<string, ts.SourceFile>()

/** A file as the compiler parses it. */
export function treeOf({ path, text }: SourceFile): ts.SourceFile {
  const known = trees.get(path)
  if (known !== undefined) return known
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  trees.set(path, tree)
  return tree
}

function textOf(node: ts.Node): string | undefined {
  return ts.isStringLiteralLike(node) ? node.text : undefined
}

/** `path:line` of a node, for messages. */
export function placeOf(node: ts.Node): string {
  const tree = node.getSourceFile()
  return `src/${tree.fileName}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
}

/** A declaration that a file exports under a name. */
export interface Exported {
  readonly name: string
  readonly node: ts.Node
  /** The file that a re-export points at, from `src/`, and the name there. */
  readonly from?: { readonly path: string; readonly name: string }
}

/** The exports of a file, including re-exports. `export * as Name` is one export that points at a whole file. */
export function exportsOf(file: SourceFile): readonly Exported[] {
  return treeOf(file).statements.flatMap((statement) =>
    ts.isExportDeclaration(statement) ? reExports(file, statement) : declared(statement),
  )
}

function reExports(file: SourceFile, statement: ts.ExportDeclaration): readonly Exported[] {
  const specifier = statement.moduleSpecifier && textOf(statement.moduleSpecifier)
  const path = specifier === undefined ? file.path : join(dirname(file.path), specifier)
  const clause = statement.exportClause
  if (clause === undefined) return [{ name: '*', node: statement, from: { path, name: '*' } }]
  if (ts.isNamespaceExport(clause)) {
    return [{ name: clause.name.text, node: statement, from: { path, name: '*' } }]
  }
  return clause.elements.map((element) => ({
    name: element.name.text,
    node: element,
    from: { path, name: (element.propertyName ?? element.name).text },
  }))
}

function declared(statement: ts.Statement): readonly Exported[] {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  if (!modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)) return []
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map(({ name }) => ({
      name: name.getText(),
      node: statement,
    }))
  }
  const name =
    (statement as ts.Statement & { readonly name?: ts.Identifier }).name?.text ?? 'default'
  return [{ name, node: statement }]
}
