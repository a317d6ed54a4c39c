// libheif-js has no types for the part that heic.ts uses.
declare module 'libheif-js/libheif-wasm/libheif-bundle.mjs' {
  /** A picture of a file; it must be freed. */
  export interface HeifImage {
    get_width(): number
    get_height(): number
    /** Fills `target` with RGBA and calls back; with null if the picture cannot be decoded. */
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
      /** The pictures of a file; none if it is damaged. Releases the previous file. */
      decode(file: Uint8Array): HeifImage[]
    }
  }
  export default function create(): LibHeif | Promise<LibHeif>
}
