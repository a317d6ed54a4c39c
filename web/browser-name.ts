// What a browser is called, by how it calls itself: browsers name one another, so the order counts.

const browsers: readonly (readonly [string, RegExp])[] = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|HeadlessChrome)\//],
  ['Safari', /\bSafari\//],
]
const systems: readonly (readonly [string, RegExp])[] = [
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMacintosh\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
]

/** "Firefox on Linux"; how it begins to call itself if it is none that is known. */
export function nameBrowser(userAgent: string | null | undefined): string {
  if (!userAgent) return 'An unknown browser'
  const find = (all: typeof browsers): string | undefined => all.find(([, pattern]) => pattern.test(userAgent))?.[0]
  const [browser, system] = [find(browsers), find(systems)]
  if (browser === undefined) return userAgent.split(/[\s/(]/, 1)[0] || 'An unknown browser'
  return system === undefined ? browser : `${browser} on ${system}`
}
