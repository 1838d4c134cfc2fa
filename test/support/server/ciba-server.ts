import { expect } from 'vitest'
import { createDevice, memoryStore, type Device, type DeviceOptions } from '../../../libraries/device/index.js'
import { basic, type Credentials } from '../clients/clients.js'
import { cibaGrant, createApprover, shopClient, withCiba, type Approver } from '../clients/ciba.js'
import type { AttestationServerOptions } from './attestation-server.js'
import { startAttestationServer } from './attestation-server.js'
import { subject } from './server.js'
import { postForm, type Answer } from './token-server.js'

type Json = Record<string, unknown>

export interface Phone extends Approver {
  readonly principalId: string
}

let phones = 0

/** The running product with CIBA, phones of people, and the registry that revokes them. */
export const startCibaServer = async (
  options: AttestationServerOptions = {},
  configure = (written: Json): Json => written,
) => {
  const server = await startAttestationServer({ ...options, configure: (written) => configure(withCiba(written)) })
  const { host, issuer } = server
  const post = (path: string, form: Readonly<Record<string, string>>, client: Credentials): Promise<Answer> =>
    postForm(issuer + path, form, { authorization: basic(client) })

  const ask = (form: Readonly<Record<string, string>> = {}, client: Credentials = shopClient) =>
    post('/bc-authorize', { scope: 'openid profile', ...form }, client)

  return {
    ...server,
    ask,
    /** What a good request gives: its `auth_req_id`. */
    async start(form: Readonly<Record<string, string>> = {}, client: Credentials = shopClient): Promise<string> {
      const { status, body } = await ask({ login_hint: 'alice', ...form }, client)
      expect(body).toMatchObject({ auth_req_id: expect.any(String), interval: 5 })
      expect(status).toBe(200)
      return String(body['auth_req_id'])
    },
    poll: (auth_req_id: string, client: Credentials = shopClient, more: Readonly<Record<string, string>> = {}) =>
      post('/token', { grant_type: cibaGrant, auth_req_id, ...more }, client),
    /** A device of a person, enrolled. */
    async newPhone(ofSubject = subject, principal_type = 'device'): Promise<Phone> {
      const principalId = `phone-${String(phones++)}`
      const device = await server.device({ subject: ofSubject, principal_id: principalId, principal_type })
      return { ...createApprover(device, issuer, await device.attest(), host.now), principalId }
    },
    /** A device of Alice that `signet-idp/device` runs. */
    async newDevice(settings: Partial<DeviceOptions> = {}): Promise<Device & { readonly principalId: string }> {
      const principalId = `phone-${String(phones++)}`
      const device = createDevice({ issuer, store: memoryStore(), clock: host.now, ...settings })
      const secondFactor = { kind: 'word', value: 'right' }
      await device.enrol({ subject, principalId, principalType: 'device', secondFactor })
      return { ...device, principalId }
    },
    /** Time that the next poll has to wait passes. */
    rest: () => host.later(5000),
  }
}

export type CibaServer = Awaited<ReturnType<typeof startCibaServer>>
