// The shape of an output before it is there: as its input and its model's defaults say.
import type { Field } from './form-model.ts'
import type { Json, JsonObject } from './records.ts'

/** In pixels; a ratio alone is a large shape. */
export interface Shape {
  readonly width: number
  readonly height: number
}

// Wider than any window, so that only the ratio counts.
const large = 10_000

/** The shape that an input asks for, defaults of its model included; null if it does not say. */
export function findShape(fields: readonly Pick<Field, 'name' | 'fallback'>[], input: JsonObject): Shape | null {
  const valueOf = (wanted: string): Json | undefined =>
    input[wanted] ?? fields.find(({ name }) => name === wanted)?.fallback
  const [width, height] = [valueOf('width'), valueOf('height')]
  if (isLength(width) && isLength(height)) return { width, height }
  for (const name of ['aspect_ratio', 'size', 'image_size', 'resolution']) {
    const [, across, down] = /^(\d+)\s*[:x×/]\s*(\d+)$/.exec(String(valueOf(name))) ?? []
    if (isLength(Number(across)) && isLength(Number(down))) return toShape(Number(across), Number(down))
  }
  return null
}

/** A shape of this ratio; numbers as small as those of 16:9 are no pixels. */
function toShape(across: number, down: number): Shape {
  return across > 64 ? { width: across, height: down } : { width: large, height: (large * down) / across }
}

/** The CSS width with which a picture of this shape fits its place. */
export function toFullWidth({ width, height }: Shape): string {
  return `min(100%, ${width}px, ${(72 * width) / height}vh)`
}

function isLength(value: unknown): value is number {
  return typeof value === 'number' && value > 0 && Number.isFinite(value)
}
