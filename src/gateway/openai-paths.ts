// The paths of OpenAI's interface. Its clients read our refusals by rules of their own, wherever they are made.

// With the slashes and versions that a wrong base URL adds.
const paths = /^\/+(?:v1\/+)+(?:images|audio)(?:[/?]|$)/

/** Whether a path belongs to OpenAI's interface, and to nothing else here. */
export function isOpenaiPath(path: string | undefined): boolean {
  return path !== undefined && paths.test(path)
}

/** Keeps its libraries from repeating a request: it may have been paid for. */
export const forbidRetry = ['x-should-retry', 'false'] as const

/** What is wrong with the base URL that a client was given, as its paths show; null if they do not. */
export function explainBaseUrl(path: string): string | null {
  if (path.startsWith('//')) return 'The path begins with two slashes: leave out the slash at the end of the base URL.'
  if (/^\/v1\/+v1(?:\/|$)/.test(path)) return 'The path has /v1 twice: the base URL already ends in /v1, or needs none.'
  return null
}
