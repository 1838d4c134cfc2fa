import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, memoryStore } from '../../libraries/device/index.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'

const audience = 'https://api.bank.example'

interface Sent {
  readonly attestation: string
  readonly signature: string
  readonly method: string
  readonly path: string
  readonly query?: string
  readonly body?: string
}

/** The text with another character at this place, so that it is still base64url. */
const changed = (value: string, at: number): string =>
  `${value.slice(0, at)}${value[at] === 'A' ? 'B' : 'A'}${value.slice(at + 1)}`

describeWith('verifying recipe', 'the open-source verifier authkestra-devsig 0.13.3', () => {
  let issuer: AttestationServer
  beforeAll(async () => {
    issuer = await startAttestationServer()
  })
  afterAll(() => issuer[Symbol.asyncDispose]())

  const enrolled = async () => {
    const device = createDevice({ issuer: issuer.issuer, store: memoryStore() })
    const secondFactor = { kind: 'word', value: 'right' }
    await device.enrol({ subject: 'alice', principalId: 'phone', principalType: 'device', secondFactor })
    return async (target: string, init: RequestInit = {}): Promise<Sent> => {
      const { headers, method } = await device.sign(new Request(`${audience}${target}`, init), { audience })
      const [path = '', query] = target.split('?')
      return {
        attestation: headers.get('x-attestation') ?? '',
        signature: headers.get('x-signature') ?? '',
        method,
        path,
        ...(query !== undefined && { query }),
        ...(typeof init.body === 'string' && { body: init.body }),
      }
    }
  }

  const verdicts = async (sent: readonly Sent[]): Promise<string[]> => {
    const jwks: unknown = await (await fetch(`${issuer.issuer}/jwks.json`)).json()
    const child = spawn(join(recipes.verifying.folder, 'target/debug/device-signature-check'), {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = [{ issuer: issuer.issuer, audience, jwks }, ...sent].map((line) => JSON.stringify(line))
    child.stdin.end(lines.join('\n'))
    return (await text(child.stdout)).trim().split('\n')
  }

  it('accepts what device.sign makes, once', async () => {
    const sign = await enrolled()
    const pay = await sign('/pay?to=bob&for=%C3%A9', { method: 'POST', body: '{"amount":7}' })
    const sent = [await sign('/'), await sign('/a%20b/c?d'), await sign('/a', { method: 'DELETE' }), pay, pay]
    const accepted = 'accepted alice phone'
    expect(await verdicts(sent)).toEqual([accepted, accepted, accepted, accepted, 'replay_detected'])
  })

  it('refuses it after a byte is changed, wherever it is', async () => {
    const sign = await enrolled()
    const good = await sign('/pay?to=bob', { method: 'POST', body: '{"amount":7}' })
    const middle = (value: string, part: number): string => {
      const parts = value.split('.')
      parts[part] = changed(parts[part] ?? '', 20)
      return parts.join('.')
    }
    const spoilt = [
      { ...good, signature: middle(good.signature, 2) },
      { ...good, attestation: middle(good.attestation, 2) },
      { ...good, method: 'PUT' },
      { ...good, path: '/Pay' },
      { ...good, query: 'to=eve' },
      { ...good, body: '{"amount":8}' },
    ]
    expect(await verdicts([...spoilt, good])).toEqual([
      'bad_signature',
      'bad_attestation',
      'method_mismatch',
      'path_mismatch',
      'query_mismatch',
      'body_mismatch',
      'accepted alice phone',
    ])
  })
})
