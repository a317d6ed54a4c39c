// Bundles modules into one script: each becomes a function that returns its exports, in the order in which they import
// each other. Comments, types and indentation are left out. docs/decisions/console-bundle.md says why this is no tool.
import { readFile } from 'node:fs/promises'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { setImmediate } from 'node:timers/promises'
import { type Identifier, type Literal, type ModuleDeclaration, parse, type Program, type Token } from 'acorn'

interface Module {
  readonly name: string
  readonly code: string
  readonly tokens: readonly Token[]
  readonly body: Program['body']
  /** Paths of what it imports, by the specifier. */
  readonly imports: ReadonlyMap<string, string>
}

/**
 * The script of a module and of all that it imports, be it TypeScript or JavaScript.
 * @param entry path of the module
 * @throws Error that names the module: if it uses default or namespace imports, `export let`, or imports in a circle
 */
export async function bundle(entry: string): Promise<string> {
  const modules = new Map<string, Module>()
  const open = new Set<string>()

  async function add(path: string): Promise<void> {
    if (modules.has(path)) return
    if (open.has(path)) throw new Error(`${path} imports itself in a circle.`)
    open.add(path)
    const module = readModule(path, await readFile(path, 'utf8'), `m${open.size}`)
    for (const imported of module.imports.values()) await add(imported)
    modules.set(path, module)
    // Requests are served in between.
    await setImmediate()
  }
  await add(entry)
  const nameOf = (module: Module, specifier: unknown): string =>
    modules.get(module.imports.get(String(specifier)) ?? '')?.name ?? ''
  return [...modules].map(([path, module]) => write(path, module, nameOf)).join('\n')
}

function readModule(path: string, source: string, name: string): Module {
  const code = stripTypeScriptTypes(source)
  const tokens: Token[] = []
  const { body } = parse(code, { ecmaVersion: 'latest', sourceType: 'module', onToken: tokens })
  const { resolve } = createRequire(path)
  const specifiers = body.flatMap((node) => ('source' in node && node.source ? [String(node.source.value)] : []))
  return { name, code, tokens, body, imports: new Map(specifiers.map((one) => [one, resolve(one)])) }
}

function write(path: string, module: Module, nameOf: (module: Module, specifier: unknown) => string): string {
  const taken: string[] = []
  const given: string[] = []
  // From where to where the code is left out.
  const cuts: { readonly start: number; readonly end: number }[] = []
  for (const node of module.body) {
    if (!isModuleDeclaration(node)) continue
    if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      const { declaration } = node
      if (declaration.type === 'VariableDeclaration' && declaration.kind !== 'const') throw unsupported(path, node)
      const declared = declaration.type === 'VariableDeclaration' ? declaration.declarations : [declaration]
      given.push(...declared.map(({ id }) => toName(id)))
      cuts.push({ start: node.start, end: declaration.start })
      continue
    }
    cuts.push(node)
    if (node.type === 'ExportDefaultDeclaration') throw unsupported(path, node)
    const from = node.source ? nameOf(module, node.source.value) : ''
    if (node.type === 'ExportAllDeclaration') given.push(`...${from}`)
    else if (node.type === 'ExportNamedDeclaration')
      given.push(
        ...node.specifiers.map(
          ({ local, exported }) => `${toName(exported)}: ${from ? `${from}.${toName(local)}` : toName(local)}`,
        ),
      )
    else {
      const names = node.specifiers.map((specifier) => {
        if (specifier.type !== 'ImportSpecifier') throw unsupported(path, node)
        return `${toName(specifier.imported)}: ${toName(specifier.local)}`
      })
      if (names.length > 0) taken.push(`const { ${names.join(', ')} } = ${from};`)
    }
  }
  return `const ${module.name} = (() => {${taken.join('')}\n${squeeze(module, cuts)}\nreturn { ${given.join(', ')} };})();`
}

/** The code without the cuts and comments, and without white space but what separates words and lines. */
function squeeze({ code, tokens }: Module, cuts: readonly { readonly start: number; readonly end: number }[]): string {
  let text = ''
  let end = 0
  for (const token of tokens) {
    if (cuts.some((cut) => token.start >= cut.start && token.end <= cut.end)) continue
    const gap = code.slice(end, token.start)
    text += (gap.includes('\n') ? '\n' : gap && ' ') + code.slice(token.start, token.end)
    ;({ end } = token)
  }
  return text.trim()
}

function isModuleDeclaration(node: Program['body'][number]): node is ModuleDeclaration {
  return node.type.startsWith('Export') || node.type === 'ImportDeclaration'
}

function toName(node: Identifier | Literal | { readonly type: string }): string {
  if (!('name' in node)) throw new Error(`A bundled module declares a ${node.type} where a name is needed.`)
  return node.name
}

function unsupported(path: string, { type }: ModuleDeclaration): Error {
  return new Error(`${path}: this ${type} cannot be bundled; use named imports and constant exports.`)
}
