// Handing a file to the server beforehand, so that a request need not carry it.
import type { ProblemRecord } from './records.ts'

/** Sends a file and answers with the address under which inputs refer to it; `onProgress` hears 0 … 1. */
export type Upload = (file: Blob, onProgress: (fraction: number) => void) => Promise<string>

/** Creates uploads with a key. They reject with an Error in words for people. */
export function createUpload(key: string): Upload {
  return (file, onProgress) =>
    new Promise((resolve, reject) => {
      // fetch does not tell how far it is.
      const request = new XMLHttpRequest()
      request.open('POST', '/v1/files')
      request.responseType = 'json'
      request.setRequestHeader('authorization', `Bearer ${key}`)
      request.setRequestHeader(
        'content-type',
        /^(image|video|audio)\//.test(file.type) ? file.type : 'application/octet-stream',
      )
      request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0))
      request.addEventListener('error', () => reject(new Error('The server cannot be reached, or refused the file.')))
      request.addEventListener('load', () => {
        const answer = request.response as ({ url: string } & Partial<ProblemRecord>) | null
        if (request.status === 201 && answer) resolve(answer.url)
        else reject(new Error(answer?.detail ?? `The file was refused (HTTP ${request.status}).`))
      })
      request.send(file)
    })
}
