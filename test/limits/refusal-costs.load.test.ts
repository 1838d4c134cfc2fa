import { createPrivateKey, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { demoConfigFile } from '../../core/cli/deployment.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { person, publicClient } from '../support/server/server.js'
import {
  createCertificateAuthority,
  createCertificateKeys,
  type CertificateAuthority,
  type IssuedCertificate,
} from '../support/forge/certificates.js'
import {
  attesterKey,
  startAttestedClientServer,
  type AttestedClientServer,
} from '../support/server/attested-client-server.js'

// What a refused request costs whose sender nobody knows: CPU of this process, which has the server and the client, in multiples
// of an ordinary refusal of the same run (docs/threat-model.md, "What strangers can make it compute").

const batches = 5
const batch = 12
/** The rows say three; half as much again is for the machine. */
const most = 4.5
/** Argon2id is meant to cost: its row has a bound of its own, on the thread pool and in turns of addresses. */
const mostOfPassword = 40

let root: CertificateAuthority
let server: AttestedClientServer
/** Chains of a stranger: what every other refusal is compared with. */
let ordinary: readonly Send[]
/** What is behind registered addresses: no request object. */
const documents = createServer((_request, response) => void response.end('no request object'))
const fetched = ['one', 'two', 'three'].map((name) => ({ ...publicClient, client_id: name }))
const uriOf = (index: number): string =>
  `http://127.0.0.1:${String((documents.address() as AddressInfo).port)}/${String(index)}`

beforeAll(async () => {
  await new Promise<void>((resolve) => documents.listen(0, '127.0.0.1', resolve))
  const demo = parse(readFileSync(demoConfigFile, 'utf8')) as Record<string, unknown>
  root = await createCertificateAuthority()
  server = await startAttestedClientServer({
    options: { attesters: [{ clients: ['wallet'], roots: [root.pem] }] },
    configure: (written) => ({
      ...written,
      request_uris: 'registered',
      outbound: { allow_private_addresses: true },
      attestation: {},
      authorization_details_types: demo['authorization_details_types'],
      clients: [
        ...(written['clients'] as object[]),
        { ...publicClient, client_id: 'payer', authorization_details_types: ['payment_initiation'] },
        ...fetched.map((client, at) => ({
          ...client,
          request_uris: Array.from({ length: 20 }, (_, index) => uriOf(at * 20 + index)),
        })),
      ],
      plugins: [
        ...(written['plugins'] as object[]),
        { use: 'plugins/attestation/bootstrap' },
        { use: 'plugins/attestation/registry' },
        {
          use: 'plugins/attestation/evidence-certificate-chain',
          options: { roots: [root.pem], key_storage: ['iso_18045_high'] },
        },
      ],
      rate_limits: { refused: { address_per_minute: 1_000_000, address_chains_per_minute: 1_000_000 } },
    }),
  })
})
beforeAll(async () => {
  ordinary = await chains([await createCertificateAuthority()])
})
afterAll(async () => {
  documents.close()
  await server[Symbol.asyncDispose]()
})

/** Name, what is sent, the answer, and the most that it may cost. */
type Row = readonly [string, () => Promise<readonly Send[]> | readonly Send[], number, number?]

type Send = () => Promise<number>

const credentials = new URLSearchParams({ grant_type: 'client_credentials' }).toString()
const post = async (body: string, headers: Record<string, string> = {}): Promise<number> =>
  (await server.host.token(body, headers)).status

const base64 = ({ der }: IssuedCertificate): string => der.toString('base64')
const attested = (leaf: IssuedCertificate, chain: readonly IssuedCertificate[]): Send => {
  const key = { ...attesterKey, privateKey: createPrivateKey(leaf.keyPem) }
  const x5c = [leaf, ...chain].map(base64)
  return async () => (await server.ask(server.attestation({}, { kid: undefined, x5c }, key), server.proof())).status
}

/** Each chain is another one: what was refused once costs less. */
const chains = async (of: readonly CertificateAuthority[], more = {}): Promise<readonly Send[]> =>
  Promise.all(
    Array.from({ length: batches * batch }, async () =>
      attested(await (of[0] as CertificateAuthority).issue(more), of),
    ),
  )
const times = (count: number, make: () => Promise<CertificateAuthority>) =>
  Promise.all(Array.from({ length: count }, make))
/** Authorities of one name and one key: each may have signed each. */
const forks = async (alg: 'ES384' | 'ES512'): Promise<readonly Send[]> => {
  const keys = await createCertificateKeys(alg)
  return chains(await times(6, () => createCertificateAuthority({ keys, subject: [{ CN: ['X'] }] })))
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Right in everything but the signature, by a key that the sender made. */
const proofOf = (alg: string, jwk: object, bytes: number): string => {
  const claims = { htm: 'POST', htu: `${server.host.server.issuer}/token`, iat: Math.floor(server.host.now() / 1000) }
  const header = { typ: 'dpop+jwt', alg, jwk }
  return `${encode(header)}.${encode({ ...claims, jti: randomUUID() })}.${randomBytes(bytes).fill(1).toString('base64url')}`
}
const proofs = (alg: string, bytes: number, key: { export(options: { format: 'jwk' }): object }): readonly Send[] =>
  Array.from({ length: batches * batch }, () => {
    const dpop = proofOf(alg, key.export({ format: 'jwk' }), bytes)
    return () => post('grant_type=refresh_token&client_id=app&refresh_token=x', { dpop })
  })
const authorize = (parameters: Readonly<Record<string, string>>): Send => {
  const url = authorizeUrl(server.host.server.issuer, parameters)
  return async () => (await fetch(url, { redirect: 'manual' })).status
}
/** Each has its page of the sign-in open. */
const guesses = (): Promise<readonly Send[]> =>
  Promise.all(
    Array.from({ length: batches * batch }, async (_, index): Promise<Send> => {
      const agent = new UserAgent({ 'x-forwarded-for': `203.0.113.${String(index)}` })
      const { url, response } = await agent.follow(authorizeUrl(server.host.server.issuer))
      const html = await response.text()
      const typed = { username: `${person.username}${String(index)}`, password: 'a wrong password' }
      return async () => (await agent.submit(url, html, typed)).response.status
    }),
  )
const payment = { type: 'payment_initiation', instructedAmount: { currency: 'eur', amount: '1'.repeat(300) } }
const enrolment = () =>
  JSON.stringify({
    ...{ subject: 's', principal_id: 'p', principal_type: 'device', second_factor: { kind: 'bootstrap', value: 'x' } },
    public_jwk: server.instance.jwk,
    evidence: {
      kind: 'certificate_chain',
      challenge: 'x'.repeat(43),
      chain: Array.from({ length: 8 }, () => 'A'.repeat(2800)),
    },
  })
const enrol: Send = async () => {
  const headers = { 'content-type': 'application/json' }
  return (await fetch(`${server.host.server.issuer}/enrol`, { method: 'POST', headers, body: enrolment() })).status
}
const again = (send: Send): readonly Send[] => Array.from({ length: batches * batch }, () => send)

const rows: readonly Row[] = [
  ['authorities of one key on P-521', () => forks('ES512'), 401],
  [
    'authorities with the name of an anchor',
    async () => chains(await times(5, () => createCertificateAuthority())),
    401,
  ],
  [
    'a certificate for hundreds of names',
    async () => chains([root], { san: Array.from({ length: 900 }, () => ({ type: 'dns', value: 'a' })) }),
    401,
  ],
  [
    'JSON that is nested deep',
    () =>
      again(() =>
        post(credentials, {
          'oauth-client-attestation': `${Buffer.from('{"a":'.repeat(900)).toString('base64url')}.e30.AAAA`,
        }),
      ),
    401,
  ],
  ['a DPoP proof that is none', () => again(() => post(credentials, { dpop: 'e30.e30.AAAA' })), 401],
  ['authorities of one key on P-384', () => forks('ES384'), 401],
  [
    'a DPoP proof on P-384 that is wrong',
    () => proofs('ES384', 96, generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey),
    400,
  ],
  [
    'a DPoP proof on P-521 that is wrong',
    () => proofs('ES512', 132, generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey),
    400,
  ],
  [
    'a DPoP proof of RSA that is wrong',
    () => proofs('PS256', 512, generateKeyPairSync('rsa', { modulusLength: 4096 }).publicKey),
    400,
  ],
  [
    'ten details that their schema refuses',
    () =>
      again(
        authorize({
          client_id: 'payer',
          authorization_details: JSON.stringify(Array.from({ length: 10 }, () => payment)),
        }),
      ),
    303,
  ],
  ['evidence beside a second factor that is wrong', () => again(enrol), 401],
  [
    'request objects that are fetched',
    () =>
      Array.from({ length: batches * batch }, (_, index) =>
        authorize({ client_id: fetched[Math.floor(index / 20)]?.client_id ?? '', request_uri: uriOf(index) }),
      ),
    400,
  ],
  ['a password that is wrong', guesses, 403, mostOfPassword],
  [
    'a form of a thousand parameters',
    () => again(() => post(Array.from({ length: 1000 }, (_, index) => `p${String(index)}=x`).join('&'))),
    400,
  ],
  [
    'a JWE in the place of a token',
    () => again(() => post(`grant_type=refresh_token&client_id=app&refresh_token=${'a.'.repeat(2000)}`)),
    400,
  ],
  ['a cookie of 8 KiB', () => again(() => post(credentials, { cookie: 'a=b; '.repeat(1600) })), 401],
]

const costOf = async (sends: readonly Send[]): Promise<number> => {
  const costs: number[] = []
  for (let index = 0; index < batches; index++) {
    const before = process.cpuUsage()
    for (const send of sends.slice(index * batch, (index + 1) * batch)) await send()
    const { user, system } = process.cpuUsage(before)
    costs.push((user + system) / batch)
  }
  return costs.toSorted((one, other) => one - other)[Math.floor(batches / 2)] as number
}

for (const [name, make, status, bound = most] of rows)
  it(`${name} costs no more than ${bound === most ? 'a few' : 'so many'} ordinary refusals`, async () => {
    const sends = await make()
    expect(await sends[0]?.()).toBe(status)
    // From then on they are refused from memory.
    await costOf(ordinary)
    expect((await costOf(sends)) / (await costOf(ordinary))).toBeLessThan(bound)
  })
