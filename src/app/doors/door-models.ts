// The models that settings name for the doors of OpenAI's interface.
import type { Catalog, Model } from '../../catalog/model.ts'
import type { Config } from '../../config.ts'
import { StartupError } from '../../core/errors.ts'
import { findPictureFields } from '../../openai/images/picture-fields.ts'

/**
 * Checks the models that the settings name. In front of a core elsewhere they are found at the first request.
 * @throws StartupError
 */
export function checkDoorModels(
  {
    openaiImageModel,
    openaiEditModel,
    openaiSpeechModel,
  }: Pick<Config, 'openaiImageModel' | 'openaiEditModel' | 'openaiSpeechModel'>,
  catalog: Pick<Catalog, 'resolve'>,
): void {
  checkModel('MEDIAGEN_OPENAI_IMAGE_MODEL', openaiImageModel, 'image', catalog)
  checkModel('MEDIAGEN_OPENAI_SPEECH_MODEL', openaiSpeechModel, 'audio', catalog)
  const model = checkModel('MEDIAGEN_OPENAI_EDIT_MODEL', openaiEditModel, 'image', catalog)
  if (model && findPictureFields(model.inputSchema).pictures.length === 0)
    throw new StartupError(`MEDIAGEN_OPENAI_EDIT_MODEL is "${openaiEditModel}", which takes no picture.`)
}

const made = { image: 'pictures', audio: 'sounds' } as const

function checkModel(
  setting: string,
  name: string | null,
  modality: keyof typeof made,
  catalog: Pick<Catalog, 'resolve'>,
): Model | null {
  if (name === null) return null
  const model = catalog.resolve(name)
  if (!model)
    throw new StartupError(`${setting} is "${name}", but no model of the catalog has this id, and none this alias.`)
  if (model.modality !== modality)
    throw new StartupError(`${setting} is "${name}", which does not make ${made[modality]}.`)
  return model
}
