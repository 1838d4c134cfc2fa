import { createPublicKey, verify } from 'node:crypto'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { addHttpSignature } from '../libraries/device/sign.js'
import { createVerifier } from '../libraries/verify/index.js'
import { createTestDevice, createTestIssuer, type TestDevice } from '../test/support/verify/attested-device.js'

// Measures how many requests signet-idp/verify verifies per second of processor time, with the issuer's keys and the
// devices' attestations cached, compared with the one P-256 verification that each needs.

const usage = `npm run bench:verify -- [--requests 20000] [--devices 1000]`
const { values } = parseArgs({
  options: { requests: { type: 'string', default: '20000' }, devices: { type: 'string', default: '1000' } },
})
const [requests, count] = [Number(values.requests), Number(values.devices)]
if (!(requests > 0) || !(count > 0)) throw new Error(usage)

const origin = 'https://api.example'
const issuer = createTestIssuer('https://issuer.example', Date.now)
const devices = Array.from({ length: count }, () => {
  const device = createTestDevice(Date.now)
  return { ...device, attestation: issuer.attest(device.jkt) }
})
const deviceOf = (index: number) => devices[index % count] as TestDevice & { readonly attestation: string }

/** A request as a server passes it to a listener, with a client's usual headers. */
const received = (method: string, url: string, headers: Readonly<Record<string, string>>, body?: string) => {
  const request = new IncomingMessage(new Socket())
  const usual = { host: 'api.example', accept: '*/*', 'user-agent': 'bench', connection: 'keep-alive' }
  const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
  Object.assign(request, { method, url, httpVersionMajor: 1, httpVersionMinor: 1 })
  request.rawHeaders = Object.entries({ ...usual, ...length, ...headers }).flat()
  if (body !== undefined) request.push(body)
  request.push(null)
  return request
}

const compact = (method: string, target: string, body?: string) => (index: number) => {
  const device = deviceOf(index)
  const claims = { exp: Math.floor(Date.now() / 1000) + 300 }
  const said = { method, target, audience: origin, claims, ...(body !== undefined && { body }) }
  const headers = { 'x-attestation': device.attestation, 'x-signature': device.signature(said) }
  return Promise.resolve(received(method, target, headers, body))
}
const asHttpMessage = async (index: number) => {
  const device = deviceOf(index)
  const options = { audience: origin, expiresIn: 300 }
  const request = new Request(`${origin}/accounts?from=1`)
  const { headers } = await addHttpSignature(request, device.key, device.attestation, options, Date.now() / 1000)
  return received('GET', '/accounts?from=1', Object.fromEntries(headers))
}

/** Processor time per item in microseconds. */
const cost = async <T>(items: readonly T[], run: (item: T) => unknown): Promise<number> => {
  const before = process.cpuUsage()
  for (const item of items) await run(item)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / items.length
}

const table = new Table({ head: ['Of one request', 'Processor, µs', 'A second and core'] })
const tell = (what: string, microseconds: number) =>
  table.push([what, microseconds.toFixed(1), Math.round(1_000_000 / microseconds).toLocaleString('en')])

const signature = devices.map(({ signature, jwk }) => {
  const [header = '', payload = '', bytes = ''] = signature({ audience: origin }).split('.')
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' })
  return { input: Buffer.from(`${header}.${payload}`), bytes: Buffer.from(bytes, 'base64url'), key }
})
const alone = Array.from({ length: requests }, (_, index) => signature[index % count] as (typeof signature)[number])
tell(
  'P-256 verification alone',
  await cost(alone, ({ input, bytes, key }) => verify('sha256', input, { key, dsaEncoding: 'ieee-p1363' }, bytes)),
)

for (const [what, make] of [
  ['GET with a query', compact('GET', '/accounts?from=1')],
  ['POST of 200 bytes', compact('POST', '/payments', 'x'.repeat(200))],
  ['GET, HTTP message signature', asHttpMessage],
] as const) {
  const verifier = createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience: origin })
  for (let index = 0; index < count; index++) await verifier.check(await make(index))
  const made: IncomingMessage[] = []
  for (let index = 0; index < requests; index++) made.push(await make(index))
  tell(what, await cost(made, (request) => verifier.check(request)))
}
console.log(table.toString())
