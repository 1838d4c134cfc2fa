import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createConnectionCertificates } from '../../core/http/client-certificate.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  type CertificateAuthority,
} from '../support/forge/certificates.js'
import { testCertificate } from '../support/server/certificate.js'
import { startUntilTestEnds } from '../support/server/http-server.js'

// What OpenSSL verifies of a client's chain before anybody is asked: 130 ms for a hundred certificates on P-521.

interface Identity {
  readonly cert: string
  readonly key: string
}

const chainOf = async (alg: 'ES256' | 'ES512', length: number): Promise<Identity> => {
  const keys = await createCertificateKeys(alg)
  const chain: CertificateAuthority[] = [await createCertificateAuthority({ keys, subject: [{ CN: ['0'] }] })]
  for (let index = 1; index < length; index++)
    chain.unshift(await (chain[0] as CertificateAuthority).intermediate({ keys, subject: [{ CN: [String(index)] }] }))
  const leaf = await (chain[0] as CertificateAuthority).issue()
  return { cert: [leaf, ...chain].map(({ pem }) => pem).join(''), key: leaf.keyPem }
}

let usual: Identity
let costly: Identity
let long: Identity
beforeAll(async () => {
  usual = await chainOf('ES256', 2)
  costly = await chainOf('ES512', 5)
  long = await chainOf('ES512', 60)
})

const start = async () => {
  let now = 0
  const clientCertificates = createConnectionCertificates(() => now)
  const { port } = await startUntilTestEnds({ tls: testCertificate, clientCertificates })
  return { port, nextMinute: () => void (now += 60_000) }
}

/** Is the connection closed before the server has said anything? */
const isTurnedAway = async (port: number, identity: Identity, localAddress = '127.0.0.1'): Promise<boolean> => {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  const tls = connectTls({ socket, rejectUnauthorized: false, ...identity })
  tls.on('error', () => undefined)
  tls.write('GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n')
  tls.resume()
  await once(socket, 'close')
  return socket.bytesRead === 0
}

/** How many pass before one is turned away, 300 at most. */
const countAdmitted = async (send: () => Promise<boolean>): Promise<number> => {
  for (let count = 0; count < 300; count++) if (await send()) return count
  return 300
}

/** Passes no more than so many bytes of each connection on, and closes it. */
const startCutter = async (to: number, bytes: number): Promise<number> => {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect({ port: to, host: '127.0.0.1' })
    let passed = 0
    sockets.add(client).add(upstream)
    client.on('data', (chunk) => {
      const rest = chunk.subarray(0, bytes - passed)
      passed += rest.length
      upstream.write(rest)
      if (passed === bytes) upstream.end()
    })
    upstream.pipe(client)
    upstream.on('close', () => client.destroy())
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as { port: number }).port
}

describe('handshakes of one address', () => {
  it.each([
    ['with more certificates than anybody needs', () => long, 20],
    ['with authorities whose keys are costly', () => costly, 100],
  ])('%s are turned away for the rest of the minute, others are not', async (_what, identityOf, most) => {
    const { port, nextMinute } = await start()
    const admitted = await countAdmitted(() => isTurnedAway(port, identityOf()))
    expect(admitted).toBeGreaterThan(5)
    expect(admitted).toBeLessThan(most)
    expect(await isTurnedAway(port, usual)).toBe(true)
    expect(await isTurnedAway(port, usual, '127.0.0.2')).toBe(false)
    nextMinute()
    expect(await isTurnedAway(port, usual)).toBe(false)
  })

  it('that are aborted are turned away, too', async () => {
    const { port } = await start()
    const cutter = await startCutter(port, 20_000)
    expect(await countAdmitted(() => isTurnedAway(cutter, long))).toBeLessThan(20)
  })

  it('with an ordinary chain, or none, are accepted however many there are', async () => {
    const { port } = await start()
    expect(await countAdmitted(() => isTurnedAway(port, usual))).toBe(300)
    expect(await isTurnedAway(port, { cert: '', key: '' })).toBe(false)
  })
})
