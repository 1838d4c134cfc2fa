/** A browser as a person would call it. Names of this file alone: nothing of what a browser sends is kept. */
export interface BrowserNames {
  readonly browser?: string
  readonly system?: string
}

/** The first that fits: nearly all browsers name Safari, and most of them Chrome. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bHeadlessChrome\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
]

/** As above: Android names Linux. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** Longer ones belong to nobody's browser. */
const mostRead = 512

/** Reads the header `User-Agent`; no member is there for what it does not know. */
export const readBrowserNames = (userAgent: string | undefined): BrowserNames => {
  const text = userAgent?.slice(0, mostRead) ?? ''
  const nameIn = (names: typeof browsers) => names.find(([pattern]) => pattern.test(text))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  return { ...(browser !== undefined && { browser }), ...(system !== undefined && { system }) }
}
