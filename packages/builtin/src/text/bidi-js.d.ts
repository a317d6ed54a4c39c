// The part of the package `bidi-js` that is used; it brings no types.

declare module 'bidi-js' {
  interface Bidi {
    /** An embedding level for each UTF-16 unit of a text (UAX 9); odd ones run from right to left. */
    getEmbeddingLevels(text: string, direction: 'ltr' | 'rtl'): { readonly levels: Uint8Array }
  }
  export default function createBidi(): Bidi
}
