// The models that settings name for the doors of OpenAI's interface.
import type { Catalog } from '../../catalog/model.ts'
import type { Config } from '../../config.ts'
import { StartupError } from '../../core/errors.ts'
import { findPictureFields } from '../../openai/picture-fields.ts'

/**
 * Checks the models that the settings name. In front of a core elsewhere they are found at the first request.
 * @throws StartupError
 */
export function checkDoorModels(
  { openaiImageModel, openaiEditModel }: Pick<Config, 'openaiImageModel' | 'openaiEditModel'>,
  catalog: Pick<Catalog, 'resolve'>,
): void {
  checkModel('MEDIAGEN_OPENAI_IMAGE_MODEL', openaiImageModel, catalog)
  const model = checkModel('MEDIAGEN_OPENAI_EDIT_MODEL', openaiEditModel, catalog)
  if (model && findPictureFields(model.inputSchema).pictures.length === 0)
    throw new StartupError(`MEDIAGEN_OPENAI_EDIT_MODEL is "${openaiEditModel}", which takes no picture.`)
}

function checkModel(setting: string, name: string | null, catalog: Pick<Catalog, 'resolve'>) {
  if (name === null) return null
  const model = catalog.resolve(name)
  if (!model)
    throw new StartupError(`${setting} is "${name}", but no model of the catalog has this id, and none this alias.`)
  if (model.modality !== 'image') throw new StartupError(`${setting} is "${name}", which does not make pictures.`)
  return model
}
