// Pictures that were handed in, made ready to be filmed.

import { invalidMedia, toFieldName } from '@mediagen/engine/media.ts'
import { createCanvas, type Canvas, ImageData } from '@napi-rs/canvas'
import sharp, { type Sharp } from 'sharp'
import { damagedImage, readImageInput } from '../media-input.ts'
import type { RenderTask } from '../renderer.ts'

/** Times that a picture may be as long as it is wide, or as wide as long: enlarged to cover a frame it is a long way. */
const mostProportion = 100
/** A picture that is longer than this many frames side by side is cut to that; only its middle will be seen. */
const mostFrames = 4
const thumbnailSide = 320
/** No camera comes nearer than this. */
const mostZoom = 1.5

interface Size {
  readonly width: number
  readonly height: number
}

/** A picture that can be read. */
export interface Picture {
  /** Pixels, upright. */
  readonly width: number
  readonly height: number
  /** Where the eye goes first, as fractions of width and height. */
  readonly focus: readonly [x: number, y: number]
  /** Decodes the picture to this size; it is cut where the proportions differ. */
  toCanvas(width: number, height: number): Promise<Canvas>
  /** The same, out of focus. */
  toBackdrop(width: number, height: number): Promise<Canvas>
}

/**
 * Opens the picture at a place of the input, to be shown in frames of this size.
 * @throws EngineError `invalid_media` when it cannot be decoded, is too large, or far too long for its width
 */
export async function openPicture(task: RenderTask, pointer: string, frame: Size): Promise<Picture> {
  const bytes = await readImageInput(task, pointer)
  const { width, height } = (await sharp(bytes, { limitInputPixels: false }).metadata()).autoOrient
  if (Math.max(width / height, height / width) > mostProportion) {
    const words = `is ${width} × ${height}; a picture that is filmed has one side at most ${mostProportion} times the other`
    throw invalidMedia(toFieldName(pointer), words)
  }
  // Decoded once, because decoding a large picture takes longest, and kept at a size that suffices for every use.
  const shrink = Math.min(1, Math.max((mostZoom * frame.width) / width, (mostZoom * frame.height) / height))
  try {
    const { data, info } = await sharp(bytes, {
      limitInputPixels: task.bounds.pixels,
      failOn: 'error',
      sequentialRead: true,
    })
      .autoOrient()
      .resize(Math.ceil(width * shrink), Math.ceil(height * shrink), { fit: 'fill' })
      .flatten({ background: '#ffffff' })
      .toColourspace('srgb')
      .raw({ depth: 'uchar' })
      .toBuffer({ resolveWithObject: true })
    const open = (): Sharp => sharp(data, { raw: { width: info.width, height: info.height, channels: info.channels } })
    const focus = await findFocus(await open().resize(thumbnailSide, thumbnailSide, { fit: 'inside' }).png().toBuffer())
    const resize = (w: number, h: number): Sharp => {
      // The focus stays inside whatever is cut.
      const scale = Math.max(w / width, h / height)
      const [full, tall] = [Math.max(w, Math.round(width * scale)), Math.max(h, Math.round(height * scale))]
      const left = Math.round(Math.min(full - w, Math.max(0, full * focus[0] - w / 2)))
      const top = Math.round(Math.min(tall - h, Math.max(0, tall * focus[1] - h / 2)))
      const whole = open().resize(full, tall, { fit: 'fill' })
      return full === w && tall === h ? whole : whole.extract({ left, top, width: w, height: h })
    }
    return {
      width,
      height,
      focus,
      toCanvas: (w, h) => toCanvas(resize(w, h)),
      async toBackdrop(w, h) {
        const small = await resize(Math.max(16, Math.round(w / 8)), Math.max(16, Math.round(h / 8)))
          .png()
          .toBuffer()
        const soft = sharp(small)
          .blur(Math.max(1, w / 8 / 18))
          .modulate({ brightness: 0.72, saturation: 1.15 })
        return toCanvas(sharp(await soft.png().toBuffer()).resize(w, h, { kernel: 'cubic' }))
      },
    }
  } catch (error) {
    throw damagedImage(pointer, error)
  }
}

/** The point that libvips finds most striking: edges, saturation and the colours of skin. */
async function findFocus(thumbnail: Buffer): Promise<readonly [number, number]> {
  const { width, height } = await sharp(thumbnail).metadata()
  const side = Math.max(1, Math.round(Math.min(width, height) * 0.6))
  const { info } = await sharp(thumbnail)
    .resize(side, side, { fit: 'cover', position: sharp.strategy.attention })
    .toBuffer({ resolveWithObject: true })
  const { attentionX = width / 2, attentionY = height / 2 } = info
  const inside = (at: number): number => Math.min(0.85, Math.max(0.15, at))
  return [inside(attentionX / width), inside(attentionY / height)]
}

async function toCanvas(image: Sharp): Promise<Canvas> {
  const { data, info } = await image.ensureAlpha().raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true })
  const canvas = createCanvas(info.width, info.height)
  const pixels = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength)
  canvas.getContext('2d').putImageData(new ImageData(pixels, info.width, info.height), 0, 0)
  return canvas
}

/** The size at which a picture just covers a frame, its sides in proportion unless it is extremely long. */
export function coverSize(
  picture: { readonly width: number; readonly height: number },
  width: number,
  height: number,
  zoom: number,
): readonly [number, number] {
  const scale = Math.max(width / picture.width, height / picture.height) * zoom
  const side = (length: number, frame: number): number =>
    Math.ceil(Math.min(mostFrames * frame * zoom, Math.max(frame * zoom, length * scale)))
  return [side(picture.width, width), side(picture.height, height)]
}
