// The built-in models are a package that a lean install leaves out. Only this file knows the package.
import type { BuiltinEngineOptions } from '@mediagen/builtin/engine.ts'
import type { Engine } from '@mediagen/engine/engine.ts'

/** The built-in models and their engine. */
export interface Builtin {
  /** Paths of their catalog files. */
  readonly catalog: readonly string[]
  createEngine(options: BuiltinEngineOptions): Engine
}

/** Finds the built-in models; null if they are not installed (a lean install). */
export async function findBuiltin(): Promise<Builtin | null> {
  const catalog = await findCatalog()
  if (catalog === null) return null
  // Anything missing from here on is a broken install and is reported.
  const { createBuiltinEngine } = await import('@mediagen/builtin/engine.ts')
  return { catalog, createEngine: createBuiltinEngine }
}

/** The module imports no other package, so it is found whenever its package is. */
async function findCatalog(): Promise<readonly string[] | null> {
  try {
    return (await import('@mediagen/builtin/catalog.ts')).builtinCatalog
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  }
}
