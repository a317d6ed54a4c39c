// The input as the AI SDK takes it: its own fields, media as files, and everything else as options of the package.
import { readFile } from 'node:fs/promises'
import { EngineError, type JsonObject } from '@mediagen/engine/engine.ts'
import type { Preparation } from '../backend.ts'
import { isObject } from '../connection.ts'
import { toContentType } from '../media/media-input.ts'
import { openModel, packageOf, type Task, taskOf, toUrlOf } from './ai-sdk-packages.ts'
import { openQuestion } from './ai-sdk-wire.ts'

/** What the SDK itself takes. */
export const fields: Readonly<Record<Task, readonly string[]>> = {
  image: ['prompt', 'n', 'size', 'aspectRatio', 'seed'],
  video: ['prompt', 'n', 'aspectRatio', 'resolution', 'duration', 'fps', 'seed', 'generateAudio'],
  speech: ['text', 'voice', 'outputFormat', 'instructions', 'speed', 'language'],
}

/**
 * Makes the options of a call.
 * @throws EngineError if the package would take them for something else
 */
export async function toOptions(preparation: Preparation): Promise<JsonObject> {
  const { spec, run, connection } = preparation
  const task = taskOf(spec)
  const input: JsonObject = { n: 1, ...run.input, ...spec.defaults }
  const media = await takeMedia(task, input, await run.media())
  const own = Object.entries(input).filter(([field]) => fields[task].includes(field))
  const { providerOptions, ...others } = Object.fromEntries(
    Object.entries(input).filter(([field]) => field !== 'n' && !fields[task].includes(field)),
  )
  const options = { ...others, ...(isObject(providerOptions) && providerOptions) }
  // The package of ElevenLabs puts it into a path.
  if (input['voice'] !== undefined && !/^[\w-]+$/.test(String(input['voice'])))
    throw new EngineError(
      'provider_refused',
      'voice must be an id of letters, digits, "-" and "_". Nothing was charged.',
    )
  const { maxImagesPerCall, maxVideosPerCall } = await openModel(
    preparation,
    openQuestion(connection, toUrlOf(preparation)),
    task,
  )
  const most = Number(maxImagesPerCall ?? maxVideosPerCall ?? 1)
  if (Number(input['n']) > most)
    throw new EngineError(
      'provider_refused',
      `${connection.provider} makes at most ${most} in one run, and n is ${String(input['n'])}. Nothing was charged.`,
    )
  return { ...Object.fromEntries(own), ...media, providerOptions: { [packageOf(spec.provider).options]: options } }
}

/** Takes the media out of the input: `mask`, `image` and `lastFrame` by their names, all others as pictures to start from. */
async function takeMedia(task: Task, input: JsonObject, media: ReadonlyMap<string, string>): Promise<JsonObject> {
  const taken: JsonObject = {}
  const others: JsonObject[] = []
  for (const [pointer, path] of media) {
    const field = pointer.split('/')[1] ?? ''
    delete input[field]
    const file = { type: 'file', mediaType: toContentType(path), data: await readFile(path, 'base64') }
    if (task === 'image' && field === 'mask') taken['mask'] = file
    else if (task === 'video' && field === 'image') taken['image'] = file
    else if (task === 'video' && field === 'lastFrame')
      taken['frameImages'] = [{ frameType: 'last_frame', image: file }]
    else others.push(file)
  }
  return { ...taken, ...(others.length > 0 && { [task === 'video' ? 'inputReferences' : 'files']: others }) }
}
