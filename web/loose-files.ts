// Files that are dropped or pasted anywhere on the page: taken where there is a place for them, and never opened instead of it.

/** Hands on files until the signal aborts. A field that takes files itself keeps the event from coming here. */
export function catchFiles(take: (files: readonly File[]) => boolean, signal: AbortSignal): void {
  addEventListener(
    'dragover',
    (event) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault()
    },
    { signal },
  )
  addEventListener(
    'drop',
    (event) => {
      const files = [...(event.dataTransfer?.files ?? [])]
      if (files.length === 0) return
      // The browser would leave the page and show the file.
      event.preventDefault()
      take(files)
    },
    { signal },
  )
  addEventListener(
    'paste',
    (event) => {
      const files = [...(event.clipboardData?.files ?? [])]
      // Programs put text on the clipboard together with its picture; who is writing wants the text.
      const writing = isWritten(event.target) && event.clipboardData?.types.includes('text/plain')
      if (files.length > 0 && !writing && take(files)) event.preventDefault()
    },
    { signal },
  )
}

function isWritten(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== 'file')
}
