// A request that says how much of its body has been sent, which fetch does not. Only browsers can.

/** Whether this platform can say it. */
export const reportsProgress = typeof XMLHttpRequest !== 'undefined'

/** As `fetch`, for a body that is a file; calls `onProgress` with 0 … 1. */
export function fetchWithProgress(
  url: string,
  init: { readonly method: string; readonly headers: Readonly<Record<string, string>>; readonly body: Blob },
  onProgress: (fraction: number) => void,
  signal: AbortSignal | undefined,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const request = new XMLHttpRequest()
    request.open(init.method, url)
    for (const [name, value] of Object.entries(init.headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0))
    request.addEventListener('error', () => reject(new TypeError('the connection failed')))
    request.addEventListener('abort', () => reject(signal?.reason as Error))
    request.addEventListener('load', () => {
      const retryAfter = request.getResponseHeader('retry-after')
      resolve(
        new Response(request.responseText, {
          status: request.status,
          headers: retryAfter === null ? {} : { 'retry-after': retryAfter },
        }),
      )
    })
    signal?.addEventListener('abort', () => request.abort(), { once: true })
    request.send(init.body)
  })
}
