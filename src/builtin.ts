// The models that ship are a package of their own, which a lean install leaves out. Only this file knows where it is.
import type { BuiltinEngineOptions } from '@mediagen/builtin/engine.ts'
import type { Engine } from '@mediagen/engine/engine.ts'

/** The models that ship, and what makes their media. */
export interface Builtin {
  /** Paths of their catalog files. */
  readonly catalog: readonly string[]
  createEngine(options: BuiltinEngineOptions): Engine
}

/** Finds the models that ship; null where they are not installed (`npm ci --workspaces=false`). */
export async function findBuiltin(): Promise<Builtin | null> {
  const catalog = await findCatalog()
  if (catalog === null) return null
  // Whatever is missing from here on is a broken install, and said as such.
  const { createBuiltinEngine } = await import('@mediagen/builtin/engine.ts')
  return { catalog, createEngine: createBuiltinEngine }
}

/** The module imports nothing of other packages, so that it is found whenever its package is. */
async function findCatalog(): Promise<readonly string[] | null> {
  try {
    return (await import('@mediagen/builtin/catalog.ts')).builtinCatalog
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') return null
    throw error
  }
}
