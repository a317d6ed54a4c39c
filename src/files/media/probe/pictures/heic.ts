// HEIC, a still picture in HEVC, decoded by libheif-js (libheif and libde265 in WebAssembly).

import { onFirstUse } from '@mediagen/engine/first-use.ts'
import type { HeifImage, HeifPixels, LibHeif } from 'libheif-js/libheif-wasm/libheif-bundle.mjs'
import sharp, { type Sharp } from 'sharp'

const load = onFirstUse(async (): Promise<InstanceType<LibHeif['HeifDecoder']>> => {
  const { default: create } = await import('libheif-js/libheif-wasm/libheif-bundle.mjs')
  const { HeifDecoder } = await create()
  return new HeifDecoder()
})

/** Decodes the picture of a file; throws if it is damaged. */
export async function decodeHeic(file: Uint8Array): Promise<Sharp> {
  const decoder = await load()
  const [image] = decoder.decode(file)
  if (!image) throw new Error('no picture')
  try {
    const { data, width, height } = await show(image)
    return sharp(data, { raw: { width, height, channels: 4 } }).removeAlpha()
  } finally {
    image.free()
  }
}

async function show(image: HeifImage): Promise<HeifPixels> {
  const [width, height] = [image.get_width(), image.get_height()]
  const { promise, resolve, reject } = Promise.withResolvers<HeifPixels>()
  image.display({ width, height, data: new Uint8ClampedArray(width * height * 4) }, (filled) => {
    if (filled) resolve(filled)
    else reject(new Error('the picture cannot be decoded'))
  })
  return await promise
}
