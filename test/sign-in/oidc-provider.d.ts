// oidc-provider has no types for what provider.ts uses.
declare module 'oidc-provider' {
  import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

  /** A request, as Koa has it. */
  export interface Context {
    path: string
    status: number
    body: any
    readonly req: IncomingMessage
    readonly res: ServerResponse
    respond?: boolean
    readonly oidc: any
  }

  export class Provider {
    constructor(issuer: string, configuration: object)
    readonly Grant: new (fields: object) => { addOIDCScope(scope: string): void; save(): Promise<string> }
    callback(): RequestListener
    use(middleware: (ctx: Context, next: () => Promise<void>) => Promise<void>): void
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>
  }
}
