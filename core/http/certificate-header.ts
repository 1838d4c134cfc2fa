/**
 * The format in which a proxy writes the client's certificate into a header. `rfc9440` is `Client-Cert` and
 * `Client-Cert-Chain` (RFC 9440 §2), `pem-urlencoded` is used by nginx and AWS ALB, `der-base64` by HAProxy and
 * Traefik, and `xfcc` by Envoy.
 */
export type CertificateFormat = 'rfc9440' | 'pem-urlencoded' | 'der-base64' | 'xfcc'

/** A certificate and nine above it are allowed: no public or private PKI is that deep. */
export const maxCertificates = 10

const base64 = /^[A-Za-z\d+/]+={0,2}$/

/** Returns undefined for anything but canonical base64. */
const fromBase64 = (text: string): Buffer | undefined => {
  if (!base64.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}

type Encoded = readonly (Buffer | undefined)[] | undefined

/** A byte sequence stands between colons (RFC 8941 §3.3.5). */
const fromByteSequence = (item: string): Buffer | undefined =>
  item.length > 2 && item.startsWith(':') && item.endsWith(':') ? fromBase64(item.slice(1, -1)) : undefined

const fromList = (text: string): readonly (Buffer | undefined)[] =>
  text.split(',').map((item) => fromByteSequence(item.trim()))

const percentDecode = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The characters that RFC 7468 §3 allows between the lines of a block, which exclude blanks and tabs. */
const lines = /^[A-Za-z\d+/=\r\n]+$/

const form = /^[\r\n]*-----BEGIN CERTIFICATE-----[^]*-----END CERTIFICATE-----[\r\n]*$/

/** Reads PEM blocks that follow one another with nothing else between them. */
const fromPem = (encoded: string): Encoded => {
  const text = percentDecode(encoded)
  if (text === undefined || !form.test(text)) return undefined
  const [, ...blocks] = text.split(/-----BEGIN CERTIFICATE-----/)
  return blocks.map((block) => {
    const [body = '', rest, ...more] = block.split('-----END CERTIFICATE-----')
    const isAlone = rest !== undefined && /^[\r\n]*$/.test(rest) && more.length === 0
    return isAlone && lines.test(body) ? fromBase64(body.replaceAll(/[\r\n]/g, '')) : undefined
  })
}

/** Traefik escapes the whole header, and separates the certificates by commas. */
const fromDer = (text: string): Encoded =>
  (text.includes('%') ? percentDecode(text) : text)?.split(',').map((item) => fromBase64(item.trim()))

/**
 * Reads `Key=value;Key="quoted value"`. Of several elements the last is that of the nearest proxy, which may be the
 * certificate of another proxy and would then give all clients one certificate. So exactly one element is allowed.
 */
const fromXfcc = (text: string): Encoded => {
  const pairs = new Map<string, string>()
  const pair = /([A-Za-z]+)=(?:"((?:[^"\\]|\\.)*)"|([^",;]*))(;|$)/y
  while (pair.lastIndex < text.length) {
    const [, key = '', quoted, plain = ''] = pair.exec(text) ?? []
    // A pair that does not parse sets `lastIndex` to 0. A second element begins with a comma, and no pair ends with
    // one.
    if (key === '' || (pairs.has(key.toLowerCase()) && /^(?:cert|chain)$/i.test(key))) return undefined
    pairs.set(key.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain)
  }
  const cert = pairs.get('cert')
  const chain = pairs.get('chain')
  if (cert === undefined) return chain === undefined ? [] : fromPem(chain)
  const leaf = fromPem(cert)
  const all = chain === undefined ? leaf : fromPem(chain)
  // The chain must begin with the certificate itself. Envoy does not quote the URIs of a certificate, so one could
  // hold a `Cert` of its own that would stand beside the true chain.
  const [own, ...others] = leaf ?? []
  return own !== undefined && others.length === 0 && all?.[0]?.equals(own) === true ? all : undefined
}

const readers: Readonly<Record<CertificateFormat, (text: string) => Encoded>> = {
  rfc9440: (text) => [fromByteSequence(text)],
  'pem-urlencoded': fromPem,
  'der-base64': fromDer,
  xfcc: fromXfcc,
}

/**
 * Returns the certificates of a header in DER: first the client's own, then those above it. `chain` is the second
 * header that RFC 9440 §2.3 defines. The result is empty when the proxy says that there is no certificate, and
 * undefined when the header does not parse.
 */
export const parseCertificateHeader = (
  format: CertificateFormat,
  text: string,
  chain?: string,
): readonly Buffer[] | undefined => {
  if (text === '') return chain === undefined || chain === '' ? [] : undefined
  const found = readers[format](text)
  const more = chain === undefined || chain === '' ? [] : fromList(chain)
  const all = found && [...found, ...more]
  return all !== undefined && all.length <= maxCertificates && all.every((one) => one !== undefined) ? all : undefined
}
