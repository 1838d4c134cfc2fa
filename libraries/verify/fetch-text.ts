import { userAgent } from '../wire/user-agent.js'

/** The function that a verifier fetches with: the platform's `fetch`, or your own, for example through a proxy. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>

/** Milliseconds. */
const answerWithin = 5000

/** Returns the body of a 200 answer of at most `mostBytes`. Follows no redirect. Rejects for everything else. */
export const fetchText = async (
  fetcher: Fetch,
  url: string,
  asked: { readonly method?: string; readonly headers?: Readonly<Record<string, string>>; readonly body?: string },
  mostBytes: number,
): Promise<string> => {
  const signal = AbortSignal.timeout(answerWithin)
  const headers = { 'user-agent': userAgent, ...asked.headers }
  const response = await fetcher(url, { ...asked, headers, redirect: 'error', signal })
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${String(response.status)}.`)
  }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    bytes += chunk.length
    // Leaving the loop cancels the rest.
    if (bytes > mostBytes) throw new Error(`${url} answered more than ${String(mostBytes)} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Accepts HTTPS, or plain HTTP to this machine. */
export const isSafeUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname))
}
