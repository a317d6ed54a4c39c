// The part of the package `linebreak` that is used; it brings no types.

declare module 'linebreak' {
  export default class LineBreaker {
    constructor(text: string)
    /** The next place at which Unicode's rules (UAX 14) allow a line to end; null after the last. */
    nextBreak(): { readonly position: number } | null
  }
}
