// Where the catalog files of the models that ship are.
import { join } from 'node:path'

/** The catalog files that ship, in the order in which people look for models: pictures first. */
export const builtinCatalog: readonly string[] = ['image', 'video', 'audio'].map((modality) =>
  join(import.meta.dirname, '../catalog', `${modality}.yaml`),
)
