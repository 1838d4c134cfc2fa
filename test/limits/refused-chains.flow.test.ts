import { createPrivateKey, X509Certificate } from 'node:crypto'
import { afterEach, expect, it, vi } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { createCertificateAuthority, type IssuedCertificate } from '../support/forge/certificates.js'
import { attesterKey, startAttestedClientServer } from '../support/server/attested-client-server.js'
import { serviceClient } from '../support/server/server.js'

// Chains of certificates are refused at a cost of their own: those of one address are counted apart.

afterEach(() => void vi.restoreAllMocks())

const root = await createCertificateAuthority()
const stranger = await createCertificateAuthority()
const certificate = await stranger.issue()

const start = async (refused: Record<string, number>) => {
  const server = await startAttestedClientServer({
    options: { attesters: [{ clients: ['wallet'], roots: [root.pem] }] },
    configure: (written) => ({ ...written, rate_limits: { refused } }),
  })
  // To the beginning of a minute, so that none turns in the middle.
  server.host.later(60_000 - (server.host.now() % 60_000))
  return server
}

type Server = Awaited<ReturnType<typeof start>>

const from = (address: string) => ({ 'x-forwarded-for': address })
const keyOf = ({ keyPem }: IssuedCertificate) => ({ ...attesterKey, privateKey: createPrivateKey(keyPem) })

const send = async (server: Server, address: string, by = certificate) => {
  const x5c = [certificate.der.toString('base64')]
  const attestation = server.attestation({}, { kid: undefined, x5c }, keyOf(by))
  const { status } = await server.ask(attestation, server.proof(), undefined, from(address))
  return status
}

const honest = async (server: Server, address: string) => {
  const form = { grant_type: 'client_credentials' }
  const { status } = await server.host.token(form, { ...from(address), authorization: basic(serviceClient) })
  return status
}

it('an address gets 429 for the rest of the minute, with certificates alone, and nobody else does', async () => {
  await using server = await start({ address_chains_per_minute: 3 })
  const [one, other] = ['192.0.2.1', '192.0.2.2']
  for (let count = 0; count < 3; count++) expect(await send(server, one)).toBe(401)
  expect(await send(server, one)).toBe(429)
  expect(await honest(server, one)).toBe(200)
  expect(await send(server, other)).toBe(401)
  const metrics = await (await fetch(`${server.host.server.admin}/metrics`)).text()
  expect(metrics).toMatch(/^signet_rate_limit_hits_total\{limit="refused_chains",issuer="[^"]+"\} 1$/m)
  server.host.later(60_000)
  expect(await send(server, one)).toBe(401)
})

it('a chain is neither verified nor counted before its first key has proved possession', async () => {
  await using server = await start({ address_chains_per_minute: 1 })
  const verify = vi.spyOn(X509Certificate.prototype, 'verify')
  const checkIssued = vi.spyOn(X509Certificate.prototype, 'checkIssued')
  for (let count = 0; count < 3; count++) expect(await send(server, '192.0.2.1', root)).toBe(401)
  expect(verify).not.toHaveBeenCalled()
  expect(checkIssued).not.toHaveBeenCalled()
  expect(await send(server, '192.0.2.1')).toBe(401)
  expect(checkIssued).toHaveBeenCalled()
  expect(await send(server, '192.0.2.1')).toBe(429)
})
