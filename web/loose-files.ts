// Handles files that are dropped or pasted anywhere on the page: a field takes them, or nothing; the browser never opens them.

/** Passes files on until the signal aborts. A field that accepts files stops the event before it gets here. */
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
      // The browser would navigate to the file.
      event.preventDefault()
      take(files)
    },
    { signal },
  )
  addEventListener(
    'paste',
    (event) => {
      const files = [...(event.clipboardData?.files ?? [])]
      // Programs put text on the clipboard together with its picture; in a text field the text is wanted.
      const writing = isWritten(event.target) && event.clipboardData?.types.includes('text/plain')
      if (files.length > 0 && !writing && take(files)) event.preventDefault()
    },
    { signal },
  )
}

function isWritten(target: EventTarget | null): boolean {
  return target instanceof HTMLTextAreaElement || (target instanceof HTMLInputElement && target.type !== 'file')
}
