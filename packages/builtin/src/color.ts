// Colour in OKLCH, where equal steps look equal; mixed in Oklab and brought into sRGB by giving up chroma only.
// The matrices are Björn Ottosson's: https://bottosson.github.io/posts/oklab/

/** Lightness 0 … 1, chroma 0 … about 0.3, hue in degrees. */
export interface Color {
  readonly l: number
  readonly c: number
  readonly h: number
}

/** Creates a colour. */
export function oklch(l: number, c: number, h: number): Color {
  return { l, c, h }
}

/** The colour at `t`, 0 … 1, on the straight way between two. */
export function mix(from: Color, to: Color, t: number): Color {
  const clamped = Math.min(1, Math.max(0, t))
  const [a, b] = [toLab(from), toLab(to)]
  const at = (i: 0 | 1 | 2): number => a[i] + (b[i] - a[i]) * clamped
  const [greenRed, blueYellow] = [at(1), at(2)]
  return { l: at(0), c: Math.hypot(greenRed, blueYellow), h: (Math.atan2(blueYellow, greenRed) * 180) / Math.PI }
}

/** The same colour, lighter or (negative) darker. */
export function lighten(color: Color, amount: number): Color {
  return { ...color, l: Math.min(1, Math.max(0, color.l + amount)) }
}

/** The same colour with its chroma multiplied. */
export function saturate(color: Color, factor: number): Color {
  return { ...color, c: color.c * factor }
}

/** Red, green and blue, 0 … 255; the closest colour of that lightness and hue that sRGB has. */
export function toRgb(color: Color): readonly [number, number, number] {
  let [low, high] = [0, color.c]
  let rgb = toLinear(color)
  if (!isInGamut(rgb)) {
    for (let step = 0; step < 14; step++) {
      const middle = (low + high) / 2
      if (isInGamut(toLinear({ ...color, c: middle }))) low = middle
      else high = middle
    }
    rgb = toLinear({ ...color, c: low })
  }
  return [encode(rgb[0]), encode(rgb[1]), encode(rgb[2])]
}

/** How well two colours can be told apart, 1 … 21, as WCAG 2 reckons it; text needs 4.5. */
export function contrast(one: Color, other: Color): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

/** The colour itself where it can be read on a ground, else the nearest in lightness that can. */
export function legibleOn(ground: Color, color: Color, enough = 4.5): Color {
  for (let step = 0; step <= 100; step++) {
    for (const l of [color.l + step / 100, color.l - step / 100]) {
      const tried = { ...color, l }
      if (l >= 0 && l <= 1 && contrast(tried, ground) >= enough) return tried
    }
  }
  return color
}

function luminance(color: Color): number {
  const [r, g, b] = toRgb(color).map((channel) => decode(channel / 255)) as [number, number, number]
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** As CSS. */
export function css(color: Color, alpha = 1): string {
  const [r, g, b] = toRgb(color)
  return `rgba(${r},${g},${b},${Math.min(1, Math.max(0, alpha)).toFixed(4)})`
}

function toLab({ l, c, h }: Color): readonly [number, number, number] {
  const radians = (h * Math.PI) / 180
  return [l, c * Math.cos(radians), c * Math.sin(radians)]
}

function toLinear(color: Color): [number, number, number] {
  const [lightness, a, b] = toLab(color)
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ]
}

function isInGamut(rgb: readonly number[]): boolean {
  return rgb.every((channel) => channel >= -0.0005 && channel <= 1.0005)
}

function encode(linear: number): number {
  const value = Math.min(1, Math.max(0, linear))
  return Math.round(255 * (value <= 0.0031308 ? 12.92 * value : 1.055 * value ** (1 / 2.4) - 0.055))
}

/** Reads `#rrggbb`. */
export function parseHex(hex: string): Color {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((i) => decode(parseInt(hex.slice(i, i + 2), 16) / 255))
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b)
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b)
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b)
  const greenRed = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s
  const blueYellow = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s
  return {
    l: 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    c: Math.hypot(greenRed, blueYellow),
    h: (Math.atan2(blueYellow, greenRed) * 180) / Math.PI,
  }
}

function decode(value: number): number {
  return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
}
