import { createHash, createPublicKey, verify } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { digestOf, kindOf, type ActionDocument, type ControlledKind } from '../operators/action.js'
import { coseToJwk } from '../operators/cose-key.js'
import { readDeviceSignature } from '../operators/device-approval.js'

/** One action that was carried out under dual control, as the log shows it. */
export interface VerifiedAction {
  readonly approval: string
  readonly action: string
  readonly object: string
  readonly requestedBy: string
  /** Operators whose signatures are good. */
  readonly approvedBy: readonly string[]
  /** The reason that was given when nobody approved. */
  readonly brokenGlass?: string
}

export interface ApprovalFault {
  /** Counted from 1 across all input. */
  readonly line: number
  readonly message: string
}

export interface ApprovalVerification {
  readonly actions: readonly VerifiedAction[]
  readonly faults: readonly ApprovalFault[]
}

interface Known {
  readonly disabled: boolean
  readonly credentials: readonly JsonObject[]
}

interface Waiting {
  readonly document: string
  readonly action: ActionDocument
  readonly good: Set<string>
  brokenGlass?: string
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')
const bytes = (value: JsonValue | undefined): Buffer => Buffer.from(text(value), 'base64url')
const sha256 = (data: Buffer | string): Buffer => createHash('sha256').update(data).digest()
const listOf = (value: JsonValue | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly JsonValue[]).filter((one): one is JsonObject => isObject(one)) : []

/** The flags of a person who was present and was verified (Web Authentication Level 3 §6.1). */
const presentAndVerified = 0b101

/** Returns the fault of an assertion for this document (Web Authentication Level 3 §7.2), or undefined. */
const findAssertionFault = (event: JsonObject, document: string): string | undefined => {
  const [clientData, authenticatorData] = [bytes(event['client_data']), bytes(event['authenticator_data'])]
  const said: unknown = JSON.parse(clientData.toString())
  if (!isObject(said) || said['type'] !== 'webauthn.get') return 'the client data are of another thing'
  if (said['challenge'] !== digestOf(document)) return 'the challenge is not the digest of the document'
  if (said['origin'] !== event['origin']) return 'the origin is another'
  if (!authenticatorData.subarray(0, 32).equals(sha256(text(event['rp_id'])))) return 'the RP ID is another'
  if (((authenticatorData[32] ?? 0) & presentAndVerified) !== presentAndVerified) return 'nobody was verified'
  const key = createPublicKey({ key: event['public_key'] as JsonObject, format: 'jwk' })
  const signed = Buffer.concat([authenticatorData, sha256(clientData)])
  const hash = key.asymmetricKeyType === 'ed25519' ? null : 'sha256'
  return verify(hash, signed, key, bytes(event['signature'])) ? undefined : 'the signature is wrong'
}

/** Follows the audit log from its beginning, so that each approval is compared with what was known at that time. */
class ApprovalTrail {
  readonly actions: VerifiedAction[] = []
  readonly faults: ApprovalFault[] = []
  readonly #waiting = new Map<string, Waiting>()
  #configured = new Map<string, Known>()
  readonly #stored = new Map<string, Partial<Known>>()
  readonly #devices = new Map<string, { readonly jkt: string; readonly isRevoked: boolean }>()
  #control: Readonly<Partial<Record<ControlledKind, JsonValue>>> = {}

  async read(line: number, event: JsonObject): Promise<void> {
    const fail = (message: string): void => void this.faults.push({ line, message })
    switch (event['event']) {
      case 'operators.known':
        this.#control = isObject(event['dual_control']) ? event['dual_control'] : {}
        this.#configured = new Map(
          listOf(event['operators']).map(({ name, disabled, credentials }) => [
            text(name),
            { disabled: disabled === true, credentials: listOf(credentials) },
          ]),
        )
        return
      case 'approval.requested':
        return this.#request(event, fail)
      case 'approval.given': {
        const fault = await this.#give(event)
        return fault === undefined ? undefined : fail(`${text(event['approval'])}: ${fault}`)
      }
      case 'approval.broken_glass': {
        const waiting = this.#waiting.get(text(event['approval']))
        if (waiting !== undefined) waiting.brokenGlass = text(event['reason'])
        return
      }
      case 'attestation.issued':
      case 'principal.revoked':
        return this.#followDevices(event)
      case 'administration':
        this.#carryOut(event, fail)
        this.#followDevices(event)
        return this.#follow(event)
      default:
    }
  }

  #request(event: JsonObject, fail: (message: string) => void): void {
    const [id, document] = [text(event['approval']), text(event['document'])]
    const action = JSON.parse(document) as ActionDocument
    if (action.id !== id) return fail(`${id}: the document is of another action`)
    this.#waiting.set(id, { document, action, good: new Set() })
  }

  #find(name: string): Known | undefined {
    const [configured, stored] = [this.#configured.get(name), this.#stored.get(name)]
    if (configured === undefined && stored === undefined) return undefined
    const credentials = [...(configured?.credentials ?? []), ...(stored?.credentials ?? [])]
    return { disabled: (stored?.disabled ?? configured?.disabled) === true, credentials }
  }

  async #give(event: JsonObject): Promise<string | undefined> {
    const waiting = this.#waiting.get(text(event['approval']))
    if (waiting === undefined) return 'an approval of an action that nobody has asked for'
    const { document, action, good } = waiting
    if (event['document'] !== document) return 'an approval of another document'
    const name = text(event['operator'])
    const { operator: requester, issued_by: issuer } = action.requested_by
    if (name === requester || name === issuer) return `${name} has approved an action of their own`
    const operator = this.#find(name)
    if (operator === undefined || operator.disabled) return `${name} was no operator at that time`
    const credential = operator.credentials.find(({ id }) => id === event['credential'])
    if (credential?.['kind'] === 'device') {
      const fault = await this.#findDeviceFault(event, document, text(credential['principal']))
      if (fault !== undefined) return `the approval of ${name}: ${fault}`
      good.add(name)
      return undefined
    }
    if (credential?.['kind'] !== 'passkey') return `${name} did not have this credential at that time`
    if (!isDeepStrictEqual(await coseToJwk(text(credential['publicKey'])), event['public_key']))
      return `the key is not that of the passkey of ${name}`
    const fault = findAssertionFault(event, document)
    if (fault !== undefined) return `the approval of ${name}: ${fault}`
    good.add(name)
    return undefined
  }

  /** Returns the reason for which a request that a device has signed does not approve this document, or undefined. */
  async #findDeviceFault(event: JsonObject, document: string, principal: string): Promise<string | undefined> {
    const signed = readDeviceSignature({ signature: text(event['signature']), body: text(event['body']) }, document)
    if (signed === undefined) return 'the signed request is of another thing'
    const jwk = event['public_key'] as JWK
    if (event['did'] !== principal) return 'the device is another'
    const device = this.#devices.get(principal)
    if (device === undefined) return 'the log does not have the enrolment of the device'
    if (device.isRevoked) return 'the device was revoked'
    if (device.jkt !== (await calculateJwkThumbprint(jwk))) return 'the key is not that of the device'
    const key = { key: createPublicKey({ key: jwk as JsonObject, format: 'jwk' }), dsaEncoding: 'ieee-p1363' as const }
    return verify('sha256', signed.signingInput, key, signed.signature) ? undefined : 'the signature is wrong'
  }

  /** Enrolled devices, by the id of their principal. */
  #followDevices(event: JsonObject): void {
    const { did, principal_id: id, principal_type: type, jkt, event: name, action } = event
    if (type !== 'device') return
    if (name === 'attestation.issued') {
      const isRevoked = this.#devices.get(text(did))?.isRevoked === true
      return void this.#devices.set(text(did), { jkt: text(jkt), isRevoked })
    }
    const known = this.#devices.get(text(id))
    if (known === undefined) return
    if (action === 'principal.release') this.#devices.delete(text(id))
    else if (action === 'principal.restore') this.#devices.set(text(id), { ...known, isRevoked: false })
    else if (action === 'principal.revoke' || name === 'principal.revoked')
      this.#devices.set(text(id), { ...known, isRevoked: true })
  }

  #carryOut(event: JsonObject, fail: (message: string) => void): void {
    const name = text(event['action'])
    const kind = kindOf(name)
    const needed = Number(kind === undefined ? 0 : (this.#control[kind] ?? 0))
    const id = text(event['approval'])
    if (id === '') {
      if (needed > 0) fail(`${name} was made without an approval`)
      return
    }
    const waiting = this.#waiting.get(id)
    if (waiting === undefined) return fail(`${id}: the log does not have what was approved`)
    const { action, good, brokenGlass } = waiting
    this.#waiting.delete(id)
    if (action.action !== name) return fail(`${id}: ${name} is not what was approved`)
    if (brokenGlass === undefined && good.size < Math.max(1, needed, action.approvals))
      return fail(`${id}: ${name} was made with too few good approvals`)
    this.actions.push({
      ...{ approval: id, action: name, object: action.object, requestedBy: action.requested_by.operator },
      ...{ approvedBy: [...good], ...(brokenGlass !== undefined && { brokenGlass }) },
    })
  }

  /** Operators of the store, as their changes in the log say. */
  #follow({ action, operator, after }: JsonObject): void {
    const name = text(operator)
    if (action === 'operator.remove') return void this.#stored.delete(name)
    if (kindOf(text(action)) !== 'operators' || !isObject(after)) return
    const before = this.#stored.get(name) ?? {}
    const own = this.#configured.get(name)?.credentials.map(({ id }) => id) ?? []
    this.#stored.set(name, {
      ...before,
      ...(typeof after['disabled'] === 'boolean' && { disabled: after['disabled'] }),
      ...(after['credentials'] !== undefined && {
        credentials: listOf(after['credentials']).filter(({ id }) => !own.includes(id)),
      }),
    })
  }
}

const parse = (line: string): JsonObject | undefined => {
  try {
    const event = JSON.parse(line) as JsonValue
    return isObject(event) ? event : undefined
  } catch {
    // A process was killed while it wrote; the chains say whether that is all.
    return undefined
  }
}

/**
 * Verifies from the audit log alone, oldest lines first, that each change under dual control was approved by enough
 * other operators who were known at that time. The chains of the lines are verified elsewhere. Throws what reading throws.
 */
export const verifyApprovals = async (logs: readonly AsyncIterable<string>[]): Promise<ApprovalVerification> => {
  const trail = new ApprovalTrail()
  let line = 0
  for (const log of logs)
    for await (const written of log) {
      line++
      const event = parse(written)
      if (event === undefined) continue
      try {
        await trail.read(line, event)
      } catch {
        trail.faults.push({ line, message: 'an approval does not parse' })
      }
    }
  return { actions: trail.actions, faults: trail.faults }
}
