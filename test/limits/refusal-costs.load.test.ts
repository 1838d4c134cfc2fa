import { createPrivateKey } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
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

let root: CertificateAuthority
let server: AttestedClientServer
beforeAll(async () => {
  root = await createCertificateAuthority()
  server = await startAttestedClientServer({
    options: { attesters: [{ clients: ['wallet'], roots: [root.pem] }] },
    configure: (written) => ({
      ...written,
      rate_limits: { refused: { address_per_minute: 1_000_000, address_chains_per_minute: 1_000_000 } },
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

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
const again = (send: Send): readonly Send[] => Array.from({ length: batches * batch }, () => send)

const rows: readonly (readonly [string, () => Promise<readonly Send[]> | readonly Send[], number])[] = [
  [
    'authorities of one key on P-521',
    async () => {
      const keys = await createCertificateKeys('ES512')
      return chains(await times(6, () => createCertificateAuthority({ keys, subject: [{ CN: ['X'] }] })))
    },
    401,
  ],
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
  ['a DPoP proof of RSA that is wrong', () => again(() => post(credentials, { dpop: 'e30.e30.AAAA' })), 401],
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

it.each(rows)('%s costs no more than a few ordinary refusals', async (_name, make, status) => {
  const sends = await make()
  expect(await sends[0]?.()).toBeOneOf([status, 400, 401])
  const stranger = await createCertificateAuthority()
  const ordinary = await chains([stranger])
  // From then on they are refused from memory.
  await costOf(ordinary)
  expect((await costOf(sends)) / (await costOf(ordinary))).toBeLessThan(most)
})
