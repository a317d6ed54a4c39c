// Turns a tree of boxes and text into pixels: satori lays it out, resvg draws it.

import { Resvg } from '@resvg/resvg-js'
import satori from 'satori'
import type { Pixels } from '../image-output.ts'
import { type FontFile, interFamilies, refuseCharacters } from './inter.ts'

/** CSS of a box, as satori understands it. */
export type BoxStyle = Record<string, string | number>

/** A box; its children are boxes or text. User text is only ever a child: it is never markup. */
export interface Box {
  readonly type: 'div'
  readonly key: null
  readonly props: { readonly style: BoxStyle; readonly children?: readonly (Box | string)[] | string }
}

/** A flex box. Satori's boxes are content boxes by default; ours are border boxes, else padded ones overflow. */
export function box(style: BoxStyle, ...children: (Box | string | null)[]): Box {
  const kept = children.filter((child) => child !== null)
  const [only] = kept
  const content = kept.length === 0 ? {} : { children: kept.length === 1 && typeof only === 'string' ? only : kept }
  return {
    type: 'div',
    key: null,
    props: { style: { display: 'flex', boxSizing: 'border-box', ...style }, ...content },
  }
}

/** A box with a place of its own in its parent. */
export function at(
  left: number,
  top: number,
  width: number,
  height: number,
  style: BoxStyle,
  ...children: (Box | string | null)[]
): Box {
  return box({ position: 'absolute', left, top, width, height, ...style }, ...children)
}

/** Lines of text that were broken before, one box each. */
export function lines(texts: readonly string[], style: BoxStyle): Box {
  return box(
    { flexDirection: 'column', ...style },
    ...texts.map((text) => box({ whiteSpace: 'pre', flexShrink: 0 }, text)),
  )
}

/**
 * Draws a tree.
 * @param backdrop SVG elements that lie behind it; made of numbers and colours, never of user text
 * @throws EngineError `invalid_input` naming characters that no font has
 */
export async function typeset(
  tree: Box,
  width: number,
  height: number,
  fonts: readonly FontFile[],
  backdrop = '',
): Promise<Pixels> {
  const root = box({ width, height, position: 'relative', overflow: 'hidden', fontFamily: interFamilies }, tree)
  const svg = await satori(root, {
    width,
    height,
    fonts: [...fonts],
    loadAdditionalAsset: (_language, segment) => refuseCharacters('The text', [...segment]),
  })
  const drawn = new Resvg(
    svg.replace('>', () => `>${backdrop}`),
    { font: { loadSystemFonts: false } },
  ).render()
  return unpremultiply({ data: drawn.pixels, width: drawn.width, height: drawn.height })
}

/** Resvg gives premultiplied pixels; for opaque ones both are the same. */
function unpremultiply(pixels: Pixels): Pixels {
  const { data } = pixels
  const out = Buffer.from(data)
  for (let i = 3; i < out.length; i += 4) {
    const alpha = out[i] ?? 0
    if (alpha === 0 || alpha === 255) continue
    for (let c = i - 3; c < i; c++) out[c] = Math.min(255, Math.round(((out[c] ?? 0) * 255) / alpha))
  }
  return { ...pixels, data: out }
}
