// Renders one task in a process of its own and prints what it took, its renderer and what that imports already loaded.
import { readFileSync, statSync } from 'node:fs'
import { usualPictureBounds } from '@mediagen/engine/media.ts'
import type { RenderTask } from '../src/renderer.ts'
import { isRendererName, loadRenderer } from '../src/renderers.ts'

interface Task extends Pick<RenderTask, 'input' | 'file'> {
  readonly renderer: string
  readonly media: Record<string, string>
}

const { renderer: name, media, ...task } = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Task
if (!isRendererName(name)) throw new Error(`No renderer is named ${name}`)
const render = await loadRenderer(name)
const before = process.cpuUsage()
const { usage } = await render({
  ...task,
  media: new Map(Object.entries(media)),
  bounds: usualPictureBounds,
  ffmpeg: null,
  onProgress: () => {},
})
const { user, system } = process.cpuUsage(before)
const rssBytes = process.resourceUsage().maxRSS * 1024
process.stdout.write(
  JSON.stringify({ cpuSeconds: (user + system) / 1e6, rssBytes, bytes: statSync(task.file).size, usage }),
)
