import { generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import type { Case, Collect } from './case.js'

interface Device {
  readonly name: string
  readonly privateKey: KeyObject
  readonly jwk: object
}

const newDevice = (_: unknown, index: number): Device => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { name: `device-${index}`, privateKey, jwk: publicKey.export({ format: 'jwk' }) }
}

const newDevices = (count: number): readonly Device[] => Array.from({ length: count }, newDevice)

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const post = (path: string, body: unknown): string => {
  const text = JSON.stringify(body)
  const head = `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${text.length}`
  return `${head}\r\n\r\n${text}`
}

const enrol = ({ name, jwk }: Device): string =>
  post('/enrol', {
    subject: name,
    principal_id: name,
    principal_type: 'device',
    public_jwk: jwk,
    attributes: { model: 'P1', os: 'A 14' },
    second_factor: { kind: 'bench', value: 'right' },
  })

const header = encode({ alg: 'ES256', typ: 'enrol-proof+jws' })

const complete = ({ privateKey }: Device, challenge: string): string => {
  const input = `${header}.${encode({ challenge })}`
  const signature = sign('sha256', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return post('/enrol/complete', { challenge, challenge_signature: `${input}.${signature.toString('base64url')}` })
}

const reissue = ({ jwk }: Device, attestation: string): string => post('/reissue', { attestation, public_jwk: jwk })

const zip = <T>(
  devices: readonly Device[],
  values: readonly string[],
  make: (device: Device, value: string) => T,
): T[] => values.map((value, index) => make(devices[index % devices.length] as Device, value))

const challenges = (devices: readonly Device[], count: number, collect: Collect): Promise<readonly string[]> =>
  collect(
    Array.from({ length: count }, (_, index) => enrol(devices[index % devices.length] as Device)),
    'challenge',
  )

/** Fewer than the keys that the service caches, so that the request before has imported the key, as in practice. */
const rememberedKeys = 1000
/** More than it caches, in turn, so that each `/reissue` imports its key, and the completion after it finds it. */
const forgottenKeys = 5000

/** Proof of possession for an attestation: one verification, one signature, one atomic consumption. */
export const completions: Case = {
  name: 'attestation: /enrol/complete',
  alg: 'ES256',
  alone: true,
  target: undefined,
  bare: { verifications: 1, signatures: 1, target: 0.6 },
  prepare: async (_server, count, collect) => {
    const devices = newDevices(rememberedKeys)
    return { requests: zip(devices, await challenges(devices, count, collect), complete), repeat: false }
  },
}

/**
 * Many devices renew at the same time: each calls `/reissue` (its attestation is verified) and proves its key
 * (`/enrol/complete`), half of the requests each.
 */
export const renewals = (name: string, registry: boolean): Case => ({
  name,
  alg: 'ES256',
  alone: true,
  ...(registry && { registry }),
  target: undefined,
  bare: { verifications: 1, signatures: 0.5, target: 0.6 },
  prepare: async (_server, count, collect) => {
    const devices = newDevices(forgottenKeys)
    const proofs = zip(devices, await challenges(devices, devices.length, collect), complete)
    const attestations = await collect(proofs, 'attestation')
    const asked = zip(devices, attestations, reissue)
    const pairs = Math.ceil(count / 2)
    const asking = Array.from({ length: pairs }, (_, index) => asked[index % asked.length] as string)
    const proving = zip(devices, await collect(asking, 'challenge'), complete)
    return { requests: asking.flatMap((request, index) => [request, proving[index] as string]), repeat: false }
  },
})
