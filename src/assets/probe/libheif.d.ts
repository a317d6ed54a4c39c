// libheif-js has no types for the part of it that heic.ts uses.
declare module 'libheif-js/libheif-wasm/libheif-bundle.mjs' {
  /** A picture of a file; it is kept until it is freed. */
  export interface HeifImage {
    get_width(): number
    get_height(): number
    /** Fills `target` with red, green, blue and opacity, and calls back; with null when the picture cannot be decoded. */
    display(target: HeifPixels, callback: (filled: HeifPixels | null) => void): void
    free(): void
  }
  export interface HeifPixels {
    readonly width: number
    readonly height: number
    readonly data: Uint8ClampedArray
  }
  export interface LibHeif {
    readonly HeifDecoder: new () => {
      /** The pictures of a file; none when it is damaged. The file before is let go of. */
      decode(file: Uint8Array): HeifImage[]
    }
  }
  export default function create(): LibHeif | Promise<LibHeif>
}
