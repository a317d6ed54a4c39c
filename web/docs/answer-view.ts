// The answer to a request that was tried: its status, its headers and its body, shown as it arrives.
import { button, element } from '../element.ts'
import type { SampleRequest } from '../request-sample.ts'

// What is shown of a long body.
const mostCharacters = 200_000

/** Sends the request; shows the answer in `place` until the signal aborts. */
export async function showAnswer(
  place: HTMLElement,
  {
    request,
    file,
    key,
    signal,
  }: { request: SampleRequest; file: File | null; key: string | null; signal: AbortSignal },
): Promise<void> {
  const status = element('p', { role: 'status' }, 'Sending…')
  const stopped = new AbortController()
  const stop = button('Stop', () => stopped.abort(), { icon: 'stop', look: 'quiet small' })
  place.replaceChildren(element('header', {}, status, stop))
  const startedAt = performance.now()
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: {
        ...(request.needsKey && key && { authorization: `Bearer ${key}` }),
        ...(request.body && { 'content-type': 'application/json' }),
        ...(file && { 'content-type': file.type || 'application/octet-stream' }),
        ...request.headers,
      },
      cache: 'no-store',
      body: file ?? (request.body ? JSON.stringify(request.body) : null),
      signal: AbortSignal.any([signal, stopped.signal]),
    })
    const took = Math.round(performance.now() - startedAt)
    status.replaceChildren(
      element('strong', { class: response.ok ? 'good' : 'bad' }, `${response.status} ${response.statusText}`),
      ` after ${took} ms`,
    )
    const headers = [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n')
    const body = element('code', {})
    place.append(
      element('details', {}, element('summary', {}, 'Headers'), element('pre', { tabindex: '0' }, headers)),
      element('pre', { tabindex: '0', role: 'region', 'aria-label': 'Body of the answer' }, body),
    )
    await showBody(response, body)
  } catch (error) {
    if (signal.aborted) return
    if (stopped.signal.aborted) status.append(' · stopped')
    else status.replaceChildren(element('strong', { class: 'bad' }, 'No answer'), ` ${(error as Error).message}`)
  } finally {
    stop.remove()
  }
}

async function showBody(response: Response, place: HTMLElement): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  if (/^(?:image|video|audio)\//.test(type)) {
    place.textContent = `${type}, ${(await response.blob()).size} bytes`
    return
  }
  if (/json/.test(type)) {
    const text = await response.text()
    place.textContent = cut(JSON.stringify(JSON.parse(text), null, 2))
    return
  }
  let text = ''
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += piece
    place.textContent = cut(text)
  }
}

function cut(text: string): string {
  return text.length > mostCharacters ? `${text.slice(0, mostCharacters)}\n…` : text
}
