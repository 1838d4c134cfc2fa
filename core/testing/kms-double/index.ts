/**
 * A double of AWS KMS: a server on the loopback interface that speaks AWS JSON 1.1 as the SDK does, and does what the
 * service documents of the actions that a signer meets. It checks that a request is signed, not by whom. The region of a
 * request is the one in the scope of its signature (SigV4), so one double is all regions of one account.
 *
 *     await using kms = await startKmsDouble()
 *     const { arn } = await kms.createKey('ECC_NIST_P256', { alias: 'alias/tokens' })
 *     const lift = kms.fail({ fault: { error: 'ThrottlingException' }, action: 'Sign', rate: 0.3 })
 */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Body } from './action-call.js'
import { actions } from './actions.js'
import { newCallRecord, type RecordedCall } from './call-record.js'
import { newFaultRules, type FaultRule, type KmsFault } from './faults.js'
import { newKeyStore, type DoubleKey, type KeyState, type NewKey } from './keys.js'
import type { DoubleKeySpec } from './key-material.js'
import { KmsErrorReply } from './kms-error.js'

export type { FaultRule, KmsFault } from './faults.js'
export type { RecordedCall } from './call-record.js'
export type { DoubleKeySpec } from './key-material.js'
export type { KeyState } from './keys.js'

export interface NewDoubleKey extends Partial<NewKey> {
  readonly alias?: string
}

/** What a test can do with the service, besides a signer's requests. */
export interface KmsDouble extends AsyncDisposable {
  /** For the option `endpoint` of the signer. */
  readonly endpoint: string
  /** Creates a key, enabled and for signing unless the options say otherwise, in `eu-central-1` by default. */
  createKey(spec: DoubleKeySpec, options?: NewDoubleKey): Promise<{ arn: string; keyId: string; alias?: string }>
  /** Returns the replica's ARN. */
  replicate(arn: string, region: string): string
  setState(arn: string, state: KeyState): void
  /**
   * Hides each key that is made from now on from so many requests, as KMS does for seconds (developer guide,
   * "Eventual consistency").
   */
  hideNewKeys(requests: number): void
  /** Every key of all regions, with its alias, in the order of creation. */
  keys(): readonly { arn: string; state: KeyState; tags: Readonly<Record<string, string>>; alias: string | undefined }[]
  /** Points an alias of the key's region to another key. */
  moveAlias(alias: string, arn: string): void
  /** Activates a fault, and returns a function that removes it. */
  fail(rule: FaultRule): () => void
  /** Removes all faults. */
  heal(): void
  /** Every request so far, in the order of arrival. */
  readonly calls: readonly RecordedCall[]
  /** The largest number of concurrent requests so far. */
  maxConcurrent(): number
  /** The same in CloudTrail's export format. */
  cloudTrail(): { Records: Body[] }
}

/** The region of a key that names none. */
export const doubleRegion = 'eu-central-1'

export interface KmsDoubleOptions {
  /** The port on loopback. Default: a free one. */
  readonly port?: number
  /** The most entries of one page of a listing. Default: as many as requests ask for. */
  readonly pageSize?: number
}

/** Starts a double of AWS KMS on 127.0.0.1, without keys. Disposing of it stops it and discards its keys. */
export const startKmsDouble = async ({ port = 0, pageSize = Infinity }: KmsDoubleOptions = {}): Promise<KmsDouble> => {
  const keys = newKeyStore()
  const faults = newFaultRules()
  const record = newCallRecord()
  const others = new Map<string, Promise<DoubleKey>>()

  const present = (arn: string): DoubleKey => {
    const key = keys.find(arn.split(':')[3] ?? '', arn)
    if (key === undefined) throw new Error(`The double has no ${arn}.`)
    return key
  }
  const another = (key: DoubleKey): Promise<DoubleKey> => {
    const made = others.get(key.arn) ?? keys.create(key.spec, { region: 'nowhere' })
    others.set(key.arn, made)
    return made
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const requestId = randomUUID()
    const action = String(request.headers['x-amz-target']).replace(/^TrentService\./, '')
    const body = await readBody(request)
    const region = /Credential=[^/]+\/\d{8}\/([^/]+)\/kms\/aws4_request/.exec(request.headers.authorization ?? '')?.[1]
    const call = record.add(requestId, action, region ?? 'unknown', body, request.headers['user-agent'])
    const reply = (status: number, content: Body): void => {
      call.status = status
      response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1', 'x-amzn-requestid': requestId })
      response.end(JSON.stringify(content))
    }
    try {
      const act = Object.hasOwn(actions, action) ? actions[action] : undefined
      if (act === undefined) throw new KmsErrorReply('UnknownOperationException', '')
      if (region === undefined)
        throw new KmsErrorReply('MissingAuthenticationTokenException', 'Missing Authentication Token')
      const name = body['KeyId']
      const { key, refusal } = typeof name === 'string' ? keys.look(region, name) : {}
      call.keyArn = key?.arn
      const fault = faults.find({ action, region, keyArn: call.keyArn })
      if (fault !== undefined) {
        call.fault = fault
        if ('hang' in fault) return
        if ('reset' in fault) return void request.socket.resetAndDestroy()
        if ('status' in fault)
          return void response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html>')
        if ('error' in fault) throw new KmsErrorReply(fault.error, fault.message ?? 'The double was set to fail.')
        if ('latency' in fault) await new Promise((resolve) => setTimeout(resolve, fault.latency))
      }
      if (refusal !== undefined) throw refusal
      const signer = fault !== undefined && 'signature' in fault && fault.signature === 'other-key' && key !== undefined
      const asked = signer ? { ...(await another(key)), arn: key.arn } : key
      const made = await act({ keys, region, body, key: asked, most: pageSize })
      if (fault !== undefined && 'lost' in fault)
        return void (fault.lost === 'reset' && request.socket.resetAndDestroy())
      reply(200, corrupt(made, fault))
    } catch (error) {
      if (!(error instanceof KmsErrorReply)) throw error
      call.errorCode = error.name
      reply(error.status, { __type: error.name, message: error.message })
    }
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  let [atOnce, most] = [0, 0]
  server.on('request', (_, response) => {
    most = Math.max(most, ++atOnce)
    response.once('close', () => atOnce--)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    async createKey(spec, { alias, ...made } = {}) {
      const { arn, keyId, region } = await keys.create(spec, { region: doubleRegion, ...made })
      if (alias !== undefined) keys.alias(region, alias, arn)
      return { arn, keyId, ...(alias !== undefined && { alias }) }
    },
    replicate: (arn, region) => keys.replicate(present(arn), region, { state: 'Enabled', tags: [] }).arn,
    setState: (arn, state) => void (present(arn).state = state),
    hideNewKeys: keys.hideNew,
    keys: () => keys.all(),
    moveAlias: (alias, arn) => keys.moveAlias(arn.split(':')[3] ?? '', alias, arn),
    fail: (rule) => faults.add(rule),
    heal: () => faults.clear(),
    maxConcurrent: () => most,
    calls: record.calls,
    cloudTrail: record.cloudTrail,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const readBody = async (request: IncomingMessage): Promise<Body> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}') as Body
}

const corrupt = (reply: Body, fault: KmsFault | undefined): Body => {
  if (fault === undefined) return reply
  if ('keyId' in fault) return { ...reply, KeyId: fault.keyId }
  if (!('signature' in fault) || fault.signature === 'other-key') return reply
  const good = Buffer.from(String(reply['Signature']), 'base64')
  return { ...reply, Signature: corrupted(good, fault.signature).toString('base64') }
}

const corrupted = (signature: Buffer, how: 'flipped-bit' | 'truncated' | 'not-der'): Buffer => {
  if (how === 'truncated') return signature.subarray(0, -1)
  if (how === 'not-der') return Buffer.concat([Buffer.from([0x31]), signature.subarray(1)])
  const flipped = Buffer.from(signature)
  // Changed inside the last number, so that the DER stays valid.
  flipped[flipped.length - 4] = (flipped.at(-4) ?? 0) ^ 0x10
  return flipped
}
