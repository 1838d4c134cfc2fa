/** A browser as a person would call it. The names come from this file only; nothing that a browser sends is stored. */
export interface BrowserNames {
  readonly browser?: string
  readonly system?: string
}

/** The first match counts, because nearly all browsers also name Safari, and most of them Chrome. */
const browsers: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\/|\bOpera\b/, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\bFirefox\/|\bFxiOS\//, 'Firefox'],
  [/\bChrome\/|\bCriOS\/|\bHeadlessChrome\//, 'Chrome'],
  [/\bVersion\/[\d.]+ .*\bSafari\//, 'Safari'],
]

/** The first match counts here too, because Android also names Linux. */
const systems: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** No real browser sends a longer header. */
const mostRead = 512

/** Reads the header `User-Agent`. Members that it does not recognise are absent. */
export const readBrowserNames = (userAgent: string | undefined): BrowserNames => {
  const text = userAgent?.slice(0, mostRead) ?? ''
  const nameIn = (names: typeof browsers) => names.find(([pattern]) => pattern.test(text))?.[1]
  const [browser, system] = [nameIn(browsers), nameIn(systems)]
  return { ...(browser !== undefined && { browser }), ...(system !== undefined && { system }) }
}
