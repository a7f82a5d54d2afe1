import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript-6'
import { root } from './root.ts'

/** One file of `src/`, parsed. */
export interface SourceFile {
  /** From `src/`, such as `types/message.ts`. */
  readonly path: string
  /** The folder, such as `types` or `providers/openai`; empty for an entry point. */
  readonly folder: string
  readonly text: string
  readonly tree: ts.SourceFile
  /** Its imports and re-exports: files as paths from `src/`, other specifiers unchanged. Type imports count. */
  readonly imports: readonly string[]
}

/** Every source file. */
export const sourceFiles: readonly SourceFile[] = filesUnder('src').map((path) => {
  const text = readFileSync(join(root, 'src', path), 'utf8')
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.ES2023, true)
  return { path, folder: folderOf(path), text, tree, imports: importsOf(path, tree) }
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

/** Each provider is a folder of its own, and so is the page of the inspector; deeper folders belong to the one that they are in. */
export function folderOf(path: string): string {
  const folders = path.split('/').slice(0, -1)
  const isDeep = folders[0] === 'providers' || folders[0] === 'inspector'
  return folders.slice(0, isDeep ? 2 : 1).join('/')
}

function importsOf(path: string, tree: ts.SourceFile): readonly string[] {
  const found: string[] = []
  const visit = (node: ts.Node): void => {
    const specifier = specifierOf(node)
    if (specifier?.startsWith('.') === true) {
      found.push(relative(join(root, 'src'), join(root, 'src', dirname(path), specifier)))
    } else if (specifier !== undefined) {
      found.push(specifier)
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

function specifierOf(node: ts.Node): string | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) {
    return node.moduleSpecifier === undefined ? undefined : textOf(node.moduleSpecifier)
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return textOf(node.argument.literal)
  }
  const dynamic = ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword
  return dynamic && node.arguments[0] !== undefined ? textOf(node.arguments[0]) : undefined
}

function textOf(node: ts.Node): string | undefined {
  return ts.isStringLiteralLike(node) ? node.text : undefined
}

/** Every node of a file, in its order. */
export function nodesOf(tree: ts.SourceFile): readonly ts.Node[] {
  const nodes: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    nodes.push(node)
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return nodes
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
  return file.tree.statements.flatMap((statement) =>
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
