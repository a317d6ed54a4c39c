// Reproducible randomness: numbers and smooth noise that depend on a text alone.

/** A seeded source of numbers. */
export interface Random {
  /** 0 ≤ x < 1. */
  float(): number
  /** low ≤ x < high. */
  range(low: number, high: number): number
  /** A whole number, low ≤ x ≤ high. */
  int(low: number, high: number): number
  /** Normally distributed around 0 with deviation 1. */
  gauss(): number
  /** True with this probability. */
  chance(probability: number): boolean
  /** One of the items; there must be one. */
  pick<Item>(items: readonly Item[]): Item
  /** The items in another order. */
  shuffle<Item>(items: readonly Item[]): Item[]
}

/** 32 bits that depend on every character of the text (FNV-1a with an avalanche). */
export function hashText(text: string, salt = 0): number {
  let hash = 0x811c9dc5 ^ salt
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** Creates a source that yields the same numbers for the same text, on every machine (sfc32). */
export function createRandom(text: string): Random {
  let [a, b, c, counter] = [hashText(text, 1), hashText(text, 2), hashText(text, 3), 1]
  const float = (): number => {
    const sum = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 0x100000000
  }
  for (let i = 0; i < 16; i++) float()
  const range = (low: number, high: number): number => low + (high - low) * float()
  const int = (low: number, high: number): number => low + Math.floor((high - low + 1) * float())
  return {
    float,
    range,
    int,
    gauss: () => Math.sqrt(-2 * Math.log(1 - float())) * Math.cos(2 * Math.PI * float()),
    chance: (probability) => float() < probability,
    pick: <Item>(items: readonly Item[]): Item => items[int(0, items.length - 1)] as Item,
    shuffle: <Item>(items: readonly Item[]): Item[] => {
      const shuffled = [...items]
      for (let i = shuffled.length - 1; i > 0; i--) {
        const j = int(0, i)
        const swapped = shuffled[i] as Item
        shuffled[i] = shuffled[j] as Item
        shuffled[j] = swapped
      }
      return shuffled
    },
  }
}

/** Smooth noise over the plane, about -1 … 1. */
export interface Noise {
  (x: number, y: number): number
}

/** Creates gradient noise with features about 1 wide. */
export function createNoise(random: Random): Noise {
  const order = random.shuffle(Array.from({ length: 256 }, (_, i) => i))
  const table = Uint8Array.from([...order, ...order])
  const gradientX = Float64Array.from({ length: 256 }, (_, i) => Math.cos((i * Math.PI) / 128))
  const gradientY = Float64Array.from({ length: 256 }, (_, i) => Math.sin((i * Math.PI) / 128))
  const corner = (ix: number, iy: number, dx: number, dy: number): number => {
    const index = table[(table[ix & 255] as number) + (iy & 255)] as number
    return (gradientX[index] as number) * dx + (gradientY[index] as number) * dy
  }
  return (x, y) => {
    const [ix, iy] = [Math.floor(x), Math.floor(y)]
    const [dx, dy] = [x - ix, y - iy]
    const u = dx * dx * dx * (dx * (dx * 6 - 15) + 10)
    const v = dy * dy * dy * (dy * (dy * 6 - 15) + 10)
    const top = corner(ix, iy, dx, dy) * (1 - u) + corner(ix + 1, iy, dx - 1, dy) * u
    const bottom = corner(ix, iy + 1, dx, dy - 1) * (1 - u) + corner(ix + 1, iy + 1, dx - 1, dy - 1) * u
    return 1.4 * (top * (1 - v) + bottom * v)
  }
}

/** Noise with finer noise upon it; each octave has half the size and `gain` times the weight. */
export function fractal(noise: Noise, x: number, y: number, octaves: number, gain = 0.5): number {
  let [sum, weight, total, scale] = [0, 1, 0, 1]
  for (let octave = 0; octave < octaves; octave++) {
    sum += weight * noise(x * scale + octave * 17.3, y * scale - octave * 9.1)
    total += weight
    weight *= gain
    scale *= 2
  }
  return sum / total
}
