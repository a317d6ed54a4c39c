// What of autocannon is used here; the package brings no types.
declare module 'autocannon' {
  export interface Request {
    readonly headers: Readonly<Record<string, string>>
  }
  export interface Options {
    readonly url: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
    readonly requests?: readonly { readonly setupRequest: (request: Request) => Request }[]
    readonly connections: number
    /** Seconds */
    readonly duration: number
    /** Number of requests; then the duration says nothing. */
    readonly amount?: number
  }
  export interface Result {
    readonly errors: number
    readonly non2xx: number
    readonly requests: { readonly total: number }
  }
  export default function autocannon(options: Options): Promise<Result>
}
