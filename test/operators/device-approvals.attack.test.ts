import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadWithStores } from '../../core/checks/check-configuration.js'
import { collections } from '../../core/collections/collections.js'
import { openStores, type Stores } from '../../core/collections/stores.js'
import { verifyApprovals } from '../../core/operate/verify-approvals.js'
import type { DeviceSignature } from '../../core/operators/device-approval.js'
import type { SignedApproval } from '../../core/operators/approval.js'
import { createDevice, memoryStore, type Device } from '../../libraries/device/index.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

type Json = Record<string, unknown>

const names = ['ada', 'bob', 'eve', 'vic'] as const

let server: OperatorServer
let stores: Stores
let commands: CommandLine
let ask: AskApi
const devices = new Map<string, Device>()

const principals = (...args: readonly string[]) =>
  commands.run(['principals', ...args, '--config', join(server.directory, 'signet.yaml')])

const enrol = async (name: string): Promise<Device> => {
  const of = ['--subject', name, '--principal-id', `phone-of-${name}`, '--type', 'device']
  const { stdout, stderr } = await principals('issue', '--kind', 'bootstrap_secret', ...of, '--json')
  expect(stderr).toBe('')
  const device = createDevice({ issuer: server.issuer, store: memoryStore() })
  const { secret } = JSON.parse(stdout) as { readonly secret: string }
  const principal = { subject: name, principalId: `phone-of-${name}`, principalType: 'device' } as const
  await device.enrol({ ...principal, secondFactor: { kind: 'bootstrap_secret', value: secret } })
  devices.set(name, device)
  return device
}

beforeAll(async () => {
  commands = await openCommandLine()
  server = await startOperatorServer({
    configure: (written) => ({
      ...written,
      attestation: {},
      plugins: [
        ...(written['plugins'] as Json[]),
        { use: 'plugins/attestation/bootstrap' },
        { use: 'plugins/attestation/registry' },
      ],
      dual_control: { clients: 2 },
      operators: {
        people: names.map((name) => ({
          ...{ name, devices: [`phone-of-${name}`] },
          roles: name === 'vic' ? ['support'] : ['operator'],
        })),
      },
    }),
  })
  stores = await openStores(await loadWithStores(join(server.directory, 'signet.yaml'), {}), Date.now)
  ask = await server.as('operator')
  for (const name of [...names, 'mallory']) await enrol(name)
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await commands[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let count = 0
const propose = async () => {
  const client_id = `shop${String(count++)}`
  const { body } = await ask('/clients', { method: 'POST', body: { client_id, grant_types: ['client_credentials'] } })
  const id = body.approval as string
  return { id, client_id, digest: (await ask(`/approvals/${id}`)).body.digest as string }
}
type Proposed = Awaited<ReturnType<typeof propose>>

interface Changed {
  readonly digest?: string
  readonly url?: string
  readonly audience?: string
  readonly method?: string
}

/** The request by which a device approves. */
const signed = (name: string, { id, digest }: Proposed, changed: Changed = {}): Promise<Request> => {
  const url = changed.url ?? `${server.admin}/api/v1/approvals/${id}/approve`
  const request = new Request(url, {
    method: changed.method ?? 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ digest: changed.digest ?? digest }),
  })
  return devices.get(name)!.sign(request, { audience: changed.audience ?? server.issuer })
}

const send = async (request: Request) => {
  const reply = await fetch(request)
  return { status: reply.status, body: (await reply.json()) as Json }
}
const approve = async (name: string, proposed: Proposed, changed?: Changed) =>
  send(await signed(name, proposed, changed))
const headersOf = async (request: Promise<Request>) => Object.fromEntries((await request).headers)
const sent = async (request: Promise<Request>): Promise<DeviceSignature> => {
  const { headers } = await request
  const [attestation = '', signature = ''] = [headers.get('x-attestation') ?? '', headers.get('x-signature') ?? '']
  return { attestation, signature, body: await (await request).text() }
}
const stateOf = async ({ id }: Proposed): Promise<Json> => (await ask(`/approvals/${id}`)).body

const verifyLog = async (events: readonly Json[]) => {
  const lines = async function* () {
    for (const event of events) yield await Promise.resolve(JSON.stringify(event))
  }
  return verifyApprovals([lines()])
}

describe('an approval by an attested device', () => {
  it('is a request that the device has signed over the digest, and the log alone proves it (AD49)', async () => {
    const proposed = await propose()
    const read = await devices
      .get('ada')!
      .sign(new Request(`${server.admin}/api/v1/approvals/${proposed.id}`), { audience: server.issuer })
    expect(await send(read)).toMatchObject({ status: 200, body: { digest: proposed.digest } })
    expect(await approve('ada', proposed)).toMatchObject({ status: 200, body: { state: 'waiting', missing: 1 } })
    expect(await approve('bob', proposed)).toMatchObject({ status: 200, body: { state: 'done' } })
    expect((await ask(`/clients/${proposed.client_id}`)).status).toBe(200)
    const log = await server.audit()
    const isGiven = ({ event, approval }: Json) => event === 'approval.given' && approval === proposed.id
    expect(log.filter(isGiven)).toEqual([
      expect.objectContaining({
        operator: 'ada',
        did: 'phone-of-ada',
        attestation_digest: expect.stringMatching(/^[\w-]{43}$/),
      }),
      expect.objectContaining({ operator: 'bob', public_key: expect.objectContaining({ kty: 'EC', crv: 'P-256' }) }),
    ])
    expect(await verifyLog(log)).toMatchObject({
      faults: [],
      actions: [expect.objectContaining({ approval: proposed.id, approvedBy: ['ada', 'bob'] })],
    })
    const forge = (from: (event: Json) => boolean, to: (event: Json) => Json | undefined) =>
      verifyLog(log.flatMap((event): Json[] => (from(event) ? [to(event) ?? {}] : [event])))
    const enrolled = ({ event, did }: Json) => event === 'attestation.issued' && did === 'phone-of-ada'
    const forged = {
      'a key of another': await forge(isGiven, (event) => ({
        ...event,
        public_key: log.findLast(isGiven)!['public_key'],
      })),
      'a body of another': await forge(isGiven, (event) => ({ ...event, body: '{"digest":"x"}' })),
      'a signature of another': await forge(isGiven, (event) => ({
        ...event,
        signature: log.find(isGiven)!['signature'],
      })),
      'a device of another': await forge(isGiven, (event) => ({ ...event, did: 'phone-of-eve' })),
      'no enrolment': await forge(enrolled, () => undefined),
      'another key enrolled': await forge(enrolled, (event) => ({ ...event, jkt: 'x' })),
      'a revocation before': await verifyLog(
        log.flatMap((event): Json[] =>
          event === log.find(isGiven)
            ? [{ event: 'principal.revoked', principal_id: 'phone-of-ada', principal_type: 'device' }, event]
            : [event],
        ),
      ),
    }
    for (const [what, { faults }] of Object.entries(forged)) expect(faults, what).not.toEqual([])
  })

  it('opens nothing but what waits for approval (AD49)', async () => {
    for (const [method, path] of [
      ['GET', '/clients'],
      ['GET', '/people'],
      ['GET', '/operators'],
    ] as const) {
      const request = new Request(`${server.admin}/api/v1${path}`, { method })
      expect((await send(await devices.get('ada')!.sign(request, { audience: server.issuer }))).status, path).toBe(403)
    }
    const body = JSON.stringify({ client_id: 'own', grant_types: ['client_credentials'] })
    const request = new Request(`${server.admin}/api/v1/clients`, {
      ...{ method: 'POST', body, headers: { 'content-type': 'application/json' } },
    })
    expect((await send(await devices.get('ada')!.sign(request, { audience: server.issuer }))).status).toBe(403)
  })

  it('is no other request, no repetition, and not of another device (AD49)', async () => {
    const [one, other] = [await propose(), await propose()]
    const path = `${server.admin}/api/v1/approvals/${one.id}/approve`
    const altered = async (headers: (own: Record<string, string>) => Promise<object> | object, body?: string) => {
      const own = await headersOf(signed('ada', one))
      return send(
        new Request(path, {
          method: 'POST',
          headers: { ...own, ...(await headers(own)) },
          body: body ?? JSON.stringify({ digest: one.digest }),
        }),
      )
    }
    const eve = await headersOf(signed('eve', one))
    const refused = {
      'another body': await altered(() => ({}), JSON.stringify({ digest: other.digest })),
      'the attestation of another': await altered(() => ({ 'x-attestation': eve['x-attestation'] })),
      'the signature of another': await altered(() => ({ 'x-signature': eve['x-signature'] })),
      'another path': await altered(async () => headersOf(signed('ada', other))),
      'another audience': await approve('ada', one, { audience: 'https://other.example' }),
      'nobody of ours': await approve('mallory', one),
      'a query': await send(
        new Request(`${path}?x=1`, {
          ...{
            method: 'POST',
            headers: await headersOf(signed('ada', one)),
            body: JSON.stringify({ digest: one.digest }),
          },
        }),
      ),
    }
    for (const [what, { status }] of Object.entries(refused)) expect(status, what).toBe(401)
    expect((await approve('ada', one, { digest: other.digest })).status).toBe(400)
    expect((await approve('vic', one)).status).toBe(403)
    const request = await signed('ada', one)
    const copies = [request.clone(), request.clone()]
    expect((await send(copies[0]!)).status).toBe(200)
    expect((await send(copies[1]!)).status).toBe(401)
    expect((await approve('ada', one)).status).toBe(409)
    expect(await stateOf(one)).toMatchObject({ state: 'waiting', approved_by: ['ada'] })
    expect(await stateOf(other)).toMatchObject({ state: 'waiting', approved_by: [] })
  })

  it('is verified once more from the record at the last one (AD49)', async () => {
    const records = collections(stores).approvals
    const start = async () => {
      const proposed = await propose()
      expect((await approve('ada', proposed)).status).toBe(200)
      return { proposed, record: (await records.find(proposed.id))! }
    }
    const first = await start()
    type ByDevice = Extract<SignedApproval, { device: unknown }>
    const edits: Readonly<
      Record<string, (own: ByDevice, proposed: Proposed) => SignedApproval | Promise<SignedApproval>>
    > = {
      'the approval of another action': () => first.record.approvals[0]!,
      'another operator': (own) => ({ ...own, operator: 'eve' }),
      'the device of another': async (own, proposed) => ({ ...own, device: await sent(signed('eve', proposed)) }),
      'another path': async (own, proposed) => {
        const url = `${server.admin}/api/v1/approvals/${proposed.id}/refuse`
        return { ...own, device: await sent(signed('ada', proposed, { url })) }
      },
      'another body': (own) => ({ ...own, device: { ...own.device, body: '{"digest":"x"}' } }),
    }
    for (const [what, edit] of Object.entries(edits)) {
      const { proposed, record } = await start()
      const own = record.approvals[0] as ByDevice
      await records.put(proposed.id, { ...record, approvals: [await edit(own, proposed)] })
      expect(await approve('bob', proposed), what).toMatchObject({
        status: 200,
        body: { state: 'waiting', missing: 1 },
      })
    }
    const edited = await start()
    const document = edited.record.document.replace('client_credentials', 'refresh_token')
    await records.put(edited.proposed.id, { ...edited.record, document })
    expect((await approve('bob', edited.proposed)).status).toBe(400)
  })

  it('counts for nothing once the device is revoked (AD49)', async () => {
    const [before, after] = [await propose(), await propose()]
    expect((await approve('eve', before)).status).toBe(200)
    expect((await principals('revoke', 'eve/phone-of-eve')).code).toBe(0)
    expect((await approve('eve', after)).status).toBe(401)
    expect(await approve('bob', before)).toMatchObject({ status: 200, body: { state: 'waiting', missing: 1 } })
    expect(await approve('ada', before)).toMatchObject({ status: 200, body: { state: 'done' } })
  })

  it('is not given for what the operator has asked for (AD49)', async () => {
    const proposed = await propose()
    const { record } = (await collections(stores).approvals.list(undefined, 200)).find(({ id }) => id === proposed.id)!
    const own = record.document.replace(/"operator":"[^"]*"/, '"operator":"ada"')
    expect(own).not.toBe(record.document)
    await collections(stores).approvals.put(proposed.id, { ...record, document: own })
    const { digest } = (await ask(`/approvals/${proposed.id}`)).body
    expect((await approve('ada', { ...proposed, digest })).status).toBe(403)
  })
})
