// What runs in a forked child: renders one job at a time and leaves its output in the job's folder.

import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { EngineResult } from '@mediagen/engine/engine.ts'
import { serveTasks } from '@mediagen/engine/serve.ts'
import type { Sharp } from 'sharp'
import type { RenderRequest } from './messages.ts'
import { isRendererName, loadRenderer, rendererNames } from './renderers.ts'

const temporaryName = '.rendering'
/** The longer side of a draft. */
const draftPixels = 384

const tasks = serveTasks(async (request, onProgress, tellDraft): Promise<EngineResult> => {
  const { renderer: name, input, media, bounds, folder, ffmpeg } = request as RenderRequest
  if (!isRendererName(name)) throw new Error(`No renderer is named ${name}`)
  const renderer = await loadRenderer(name)
  const file = join(folder, temporaryName)
  let drafts = 0
  async function onDraft(picture: Sharp): Promise<void> {
    const draft = `.draft-${(drafts += 1)}.webp`
    const size = { width: draftPixels, height: draftPixels, fit: 'inside', withoutEnlargement: true } as const
    await picture.resize(size).webp({ quality: 70, effort: 0 }).toFile(join(folder, draft))
    tellDraft(draft)
  }
  const { extension, usage } = await renderer({
    input,
    media: new Map(Object.entries(media)),
    bounds,
    file,
    ffmpeg,
    onProgress,
    onDraft,
  })
  const output = `output.${extension}`
  await rename(file, join(folder, output))
  return { files: [output], usage }
})

await Promise.all(rendererNames.map(loadRenderer))
tasks.ready()
