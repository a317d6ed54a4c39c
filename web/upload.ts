// Uploads a file with progress, which fetch does not report.

export interface UploadOptions {
  /** Called with 0 … 1. */
  readonly onProgress: (fraction: number) => void
  readonly signal: AbortSignal
}

/** Posts a file and returns the answer. Rejects if no answer arrived, with an AbortError if it was aborted. */
export function sendFile(path: string, key: string, file: Blob, options: UploadOptions): Promise<Response> {
  const { onProgress, signal } = options
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const request = new XMLHttpRequest()
    request.open('POST', path)
    request.setRequestHeader('authorization', `Bearer ${key}`)
    request.setRequestHeader('content-type', isMediaType(file.type) ? file.type : 'application/octet-stream')
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0))
    request.addEventListener('error', () => reject(new TypeError('the connection failed')))
    request.addEventListener('abort', () => reject(new DOMException('Canceled.', 'AbortError')))
    request.addEventListener('load', () =>
      resolve(new Response(request.responseText, { status: request.status, statusText: request.statusText })),
    )
    signal.addEventListener('abort', () => request.abort(), { once: true })
    request.send(file)
  })
}

/** Whether inputs may refer to files of this type; the server checks the content. */
export function isMediaType(type: string): boolean {
  return /^(image|video|audio)\/[\w.+-]+$/.test(type)
}
