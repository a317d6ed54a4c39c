// Shapes to pick where a model takes a width and a height in pixels: each sets both, with about as many pixels as before.
import type { Control } from './control.ts'
import { element } from './element.ts'
import type { NumberField } from './form-model.ts'

const shapes = [
  [1, 1, 'Square'],
  [4, 3, '4:3'],
  [3, 2, '3:2'],
  [16, 9, '16:9'],
  [3, 4, '3:4'],
  [2, 3, '2:3'],
  [9, 16, '9:16'],
] as const
const usualPixels = 1024 * 1024

/** The shapes as buttons; null where the fields are not a width and a height in whole pixels with bounds. */
export function aspectPresets(controls: readonly Control[], onChange: () => void): HTMLElement | null {
  const [width, height] = ['width', 'height'].map((name) => controls.find(({ field }) => field.name === name))
  if (!width || !height || !isSide(width.field) || !isSide(height.field)) return null
  const [w, h] = [width.field, height.field]
  const buttons = shapes.map(([across, down, title]) => {
    const mark = element('span', { class: 'shape-mark' })
    mark.style.aspectRatio = `${across} / ${down}`
    const onclick = (): void => {
      const [pixelsWide, pixelsHigh] = fitShape(across / down, toPixels(width, height), w, h)
      width.write(pixelsWide)
      height.write(pixelsHigh)
      onChange()
    }
    return element('button', { type: 'button', class: 'shape', onclick }, mark, title)
  })
  return element('div', { class: 'shapes', role: 'group', 'aria-label': 'Shape' }, ...buttons)
}

interface Side {
  readonly min: number
  readonly max: number
  readonly step: number
}

function isSide(field: Control['field']): field is NumberField & Side {
  return field.kind === 'number' && field.integer && field.min !== undefined && field.max !== undefined
}

function toPixels(width: Control, height: Control): number {
  const [across, down] = [width, height].map(({ read, field }) => read() ?? field.fallback)
  return typeof across === 'number' && typeof down === 'number' ? across * down : usualPixels
}

/**
 * Width and height of a shape, in pixels, within the bounds of both.
 * @param ratio width over height
 * @param pixels how many there should be
 */
export function fitShape(ratio: number, pixels: number, width: Side, height: Side): [number, number] {
  const most = Math.min(width.max, height.max * ratio)
  const least = Math.max(width.min, height.min * ratio)
  const across = toStep(Math.min(Math.max(Math.sqrt(pixels * ratio), least), most), width)
  return [across, toStep(across / ratio, height)]
}

function toStep(value: number, { min, max, step }: Side): number {
  return Math.min(Math.max(Math.round(value / step) * step, min), max)
}
