import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compactVerify, importX509 } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { noLog, type Log } from '../../core/observe/log.js'
import { decodeJws } from '../support/clients/attestation.js'
import { createCertificateAuthority, type IssuedCertificate } from '../support/forge/certificates.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { postForm } from '../support/server/token-server.js'

// Client attestations with the certificates of the key that signed them (RFC 7515 §4.1.6).

type Json = Record<string, unknown>

const authority = await createCertificateAuthority()
const issuing = await authority.intermediate()
const certificate = await issuing.issue({ san: [{ type: 'dns', value: 'attester.example' }] })
const base64 = ({ der }: IssuedCertificate): string => der.toString('base64')

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-certified-key-'))
  await writeFile(join(directory, 'es256.pem'), certificate.keyPem, { mode: 0o600 })
})
afterAll(() => rm(directory, { recursive: true }))

const start = (certificates: readonly string[], log: Log = noLog): Promise<AttestationServer> =>
  startAttestationServer({
    log,
    section: {
      client_attestations: [{ client_id: 'fleet' }],
      client_attestation_certificates: certificates,
    },
    configure: (written) => ({
      ...written,
      signers: { local: { use: 'signers/local', options: { directory } } },
      plugins: [
        ...(written['plugins'] as Json[]),
        {
          use: 'plugins/client-auth/client-attestation',
          options: { attesters: [{ clients: ['fleet'], roots: [authority.pem], names: ['attester.example'] }] },
        },
      ],
      clients: [
        ...(written['clients'] as Json[]),
        {
          client_id: 'fleet',
          token_endpoint_auth_method: 'attest_jwt_client_auth',
          grant_types: ['client_credentials'],
          scope: 'read',
        },
      ],
    }),
  })

const enrol = async (server: AttestationServer) => {
  const device = await server.device({ principal_id: 'phone' })
  const { body } = await device.complete(await device.challenge())
  return { device, attestation: String(body['client_attestation']) }
}

it('lead a server that knows only the root to the key and the client', async () => {
  await using server = await start([`${certificate.pem}\n${issuing.pem}`])
  const { device, attestation } = await enrol(server)
  expect(decodeJws(attestation).header).toEqual({
    alg: 'ES256',
    kid: 'es256',
    typ: 'oauth-client-attestation+jwt',
    x5c: [base64(certificate), base64(issuing)],
  })
  await compactVerify(attestation, await importX509(certificate.pem, 'ES256'))
  const proof = await device.sign(
    { aud: server.issuer, iat: Math.floor(server.host.now() / 1000), jti: randomUUID() },
    { typ: 'oauth-client-attestation-pop+jwt', alg: 'ES256' },
  )
  const headers = { 'oauth-client-attestation': attestation, 'oauth-client-attestation-pop': proof }
  const { status } = await postForm(
    `${server.issuer}/token`,
    { grant_type: 'client_credentials', client_id: 'fleet' },
    headers,
  )
  expect(status).toBe(200)
})

it('match the key; any other chain is omitted, and the log reports it', async () => {
  const other = await issuing.issue()
  const warnings: unknown[] = []
  const warn = (...line: unknown[]) => void warnings.push(line)
  await using server = await start([`${certificate.pem}\n${issuing.pem}`, other.pem], { ...noLog, warn })
  const { attestation } = await enrol(server)
  expect(decodeJws(attestation).header['x5c']).toEqual([base64(certificate), base64(issuing)])
  expect(warnings).toContainEqual(['No key has this certificate chain for client attestations', { index: 1 }])
  await using uncertified = await start([other.pem])
  expect(decodeJws((await enrol(uncertified)).attestation).header).not.toHaveProperty('x5c')
})
