// The renderer `poster`: sets words in one of several designs.

import { EngineError } from '../../../core/engine.ts'
import { parseHex } from '../color.ts'
import { writeImage } from '../image-output.ts'
import type { Rendered, RenderTask } from '../renderers.ts'
import { loadInter, toCapitals, toSettableText } from '../text/inter.ts'
import { box, typeset } from '../text/typeset.ts'
import type { Sheet } from './sheet.ts'
import { themes } from './themes.ts'

/** Width and height in pixels. */
const sizes: Readonly<Record<string, readonly [number, number]>> = {
  square: [1080, 1080],
  portrait: [1080, 1350],
  story: [1080, 1920],
  landscape: [1200, 630],
  wide: [1920, 1080],
  banner: [1500, 500],
  print: [1414, 2000],
}

/** Sets the input's `title` and whatever goes with it. */
export async function renderPoster(task: RenderTask): Promise<Rendered> {
  const { input } = task
  const theme = themes[String(input['theme'])]
  const size = sizes[String(input['size'])]
  if (!theme || !size) throw new EngineError('invalid_input', 'theme or size is not one that there is.')
  const [width, height] = size
  const text = (field: string): string => (typeof input[field] === 'string' ? toSettableText(field, input[field]) : '')
  const sheet: Sheet = {
    width,
    height,
    unit: Math.min(width, height),
    wide: width > height * 1.2,
    title: text('title'),
    subtitle: text('subtitle'),
    badge: text('badge'),
    footer: text('footer'),
    accent: typeof input['accent'] === 'string' ? parseHex(input['accent']) : null,
  }
  if (sheet.title === '') throw new EngineError('invalid_input', 'title has no visible characters.')
  task.onProgress(0.1)
  const { backdrop, words } = theme.compose(sheet)
  // Upper case may need other letters than the words as they were given.
  const texts = [sheet.title, sheet.subtitle, sheet.badge, sheet.footer].flatMap((words) => [words, toCapitals(words)])
  const pixels = await typeset(
    box({ width, height, position: 'relative' }, ...words),
    width,
    height,
    loadInter(texts, theme.weights),
    backdrop,
  )
  task.onProgress(0.7)
  return writeImage(task, pixels)
}
