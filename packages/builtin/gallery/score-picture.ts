// A piece of music as a picture: what each part plays, the sections and chords over it, and the drums below.

import type { JsonObject } from '@mediagen/engine/engine.ts'
import { createCanvas, type SKRSContext2D } from '@napi-rs/canvas'
import sharp from 'sharp'
import { composeFor } from '../src/music/music.ts'

const [width, height] = [1280, 420]
const [top, drumHeight] = [34, 90]
const [lowest, highest] = [28, 100]
const background = '#14141c'
const faint = '#2a2a36'
const colors = { pad: '#4a5a8c', comp: '#5fa8a0', bass: '#e0884a', lead: '#ffd75e', answer: '#e06a9c' }

/** The score of a piece over the picture of its sound, as a PNG; the input is that of the model, with its defaults. */
export async function drawMusic(input: JsonObject, sound: Buffer): Promise<Buffer> {
  const below = await sharp(sound).resize({ width }).png().toBuffer()
  const { height: added } = await sharp(below).metadata()
  return sharp(drawScore(input))
    .extend({ bottom: added })
    .composite([{ input: below, top: height, left: 0 }])
    .png()
    .toBuffer()
}

function drawScore(input: JsonObject): Buffer {
  const { piece, duration } = composeFor(input)
  const canvas = createCanvas(width, height)
  const context = canvas.getContext('2d')
  const x = (seconds: number): number => (seconds / duration) * width
  context.fillStyle = background
  context.fillRect(0, 0, width, height)
  context.font = '12px sans-serif'
  context.fillStyle = faint
  for (const { start } of piece.bars) context.fillRect(x(start), top, 1, height - top)
  for (const { kind, turn, start, lift } of piece.sections) {
    context.fillStyle = '#8888a0'
    context.fillRect(x(start), 0, 1, height)
    context.fillText(`${kind} ${turn + 1}${lift > 0 ? ` +${lift}` : ''}`, x(start) + 4, 13)
  }
  const names = ['C', 'D♭', 'D', 'E♭', 'E', 'F', 'G♭', 'G', 'A♭', 'A', 'B♭', 'B']
  context.fillStyle = '#b8b8c8'
  context.font = '10px sans-serif'
  for (const { slots, start, beat: first } of piece.bars)
    for (const { chord, tonic, beat } of slots) {
      const third = chord.tones.includes(3) ? 'm' : ''
      const name = `${names[(chord.root + tonic) % 12]}${third}${chord.tones.length > 3 ? '·' : ''}`
      context.fillText(name, x(start + ((beat - first) * 60) / piece.bpm) + 2, 28)
    }
  drawNotes(context, piece, x)
  drawDrums(context, piece, x)
  return canvas.toBuffer('image/png')
}

type Piece = ReturnType<typeof composeFor>['piece']

function drawNotes(context: SKRSContext2D, piece: Piece, x: (seconds: number) => number): void {
  const row = (height - top - drumHeight) / (highest - lowest)
  for (const { part, start, seconds, pitch, velocity } of piece.events) {
    const { role } = piece.parts[part] as { role: keyof typeof colors }
    context.fillStyle = colors[role]
    context.globalAlpha = 0.35 + 0.65 * velocity
    const y = height - drumHeight - (pitch - lowest + 1) * row
    context.fillRect(x(start), y, Math.max(2, x(seconds) - 1), Math.max(2, row - 0.5))
  }
  context.globalAlpha = 1
}

function drawDrums(context: SKRSContext2D, piece: Piece, x: (seconds: number) => number): void {
  const used = [...new Set(piece.strokes.map(({ drum }) => drum))].toSorted()
  const row = (drumHeight - 8) / Math.max(6, used.length)
  context.font = `${Math.min(10, row)}px sans-serif`
  for (const [i, drum] of used.entries()) {
    const y = height - drumHeight + 8 + i * row
    context.fillStyle = '#777788'
    context.fillText(drum, 2, y + row - 1)
    context.fillStyle = '#d8d8e8'
    for (const { drum: struck, start, velocity } of piece.strokes)
      if (struck === drum) context.fillRect(x(start), y + row * (1 - velocity), 2, Math.max(1, row * velocity - 1))
  }
}
