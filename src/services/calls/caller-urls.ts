// The URLs of files in an answer: below the address at which its caller reached this server, if no setting names one.
import type { HandlerContext } from '@connectrpc/connect'
import type { AssetUrls } from '../../core/files/asset.ts'
import { hostOf } from './call-context.ts'

/** The URLs for the answer to a call. Over gRPC the caller reached another port, so they are the usual ones. */
export function urlsFor(urls: AssetUrls, context: Pick<HandlerContext, 'requestHeader'>): AssetUrls {
  if (!urls.below) return urls
  const host = hostOf(context)
  return host === null ? urls : urls.below(`http://${host}`)
}
