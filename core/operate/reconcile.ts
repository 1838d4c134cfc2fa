import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { readJsonLines, readJsonRecords } from './json-records.js'
import { createTrailKeys, type ConfiguredKey } from './trail-keys.js'

/** A signature in the backend's log that is missing from our audit log. */
export interface UnissuedSignature {
  readonly time: string
  readonly request_id: string
  readonly key: string
  readonly caller: string
}

/** A signature in our audit log that is missing from the backend's log. */
export interface UnsignedToken {
  readonly time: string
  readonly event: string
  readonly reference: string
  readonly signer: string
  readonly kid: string
  readonly jti: string
  readonly client_id: string
}

export interface Reconciliation {
  /** Signatures of the backend's log that were examined. */
  readonly signatures: number
  /** Signatures of the audit log that name a request of this backend. */
  readonly recorded: number
  readonly matched: number
  /** Calls that the backend refused, so that no signature was made. */
  readonly failed: number
  /** Records of other calls and of other keys. */
  readonly others: number
  /** Configured keys whose CloudTrail names are unknown. While there are any, no key is left out. */
  readonly unnamed: readonly string[]
  readonly unissued: readonly UnissuedSignature[]
  readonly unsigned: readonly UnsignedToken[]
}

export interface ReconcileOptions {
  /** CloudTrail exports: `Records`, `Events` of lookup-events, lists, JSON lines; gzip or not. */
  readonly cloudtrail: readonly string[]
  /** Our audit log, in any number of files. */
  readonly audit: readonly string[]
  /** Our keys, in addition to those that the audit log names. If absent, every key of the export. */
  readonly keys?: readonly ConfiguredKey[]
  /** Milliseconds since the epoch. Signatures outside the range are matched, but not reported as missing. */
  readonly from?: number
  readonly until?: number
}

/** Request ids of AWS are UUIDs; references of other signers look different. */
const isRequestId = (text: unknown): text is string =>
  typeof text === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const memberOf = (value: JsonValue | undefined, name: string): JsonValue | undefined =>
  isObject(value) ? value[name] : undefined

const keysOf = (record: JsonObject): readonly string[] => {
  const { resources, requestParameters } = record
  const arns = Array.isArray(resources) ? resources.map((one: JsonValue) => text(memberOf(one, 'ARN'))) : []
  // The caller may have written an alias, which another account's key can have too.
  const names = arns.some((arn) => arn !== '') ? arns : [text(memberOf(requestParameters, 'keyId'))]
  return names.filter((name) => name !== '')
}

const isSign = ({ eventName, eventSource = 'kms.amazonaws.com' }: JsonObject): boolean =>
  eventName === 'Sign' && eventSource === 'kms.amazonaws.com'

/** `aws cloudtrail lookup-events` wraps each record as text in its own. */
const unwrap = (record: JsonObject): JsonObject => {
  const { CloudTrailEvent: inner } = record
  return typeof inner === 'string' ? (JSON.parse(inner) as JsonObject) : record
}

interface Recorded extends UnsignedToken {
  readonly at: number
}

/** Every signature that one line of our audit log records. */
const signaturesOf = (line: JsonObject): readonly Recorded[] => {
  const { signatures, time, event, jti, client_id } = line
  const list: readonly JsonValue[] = Array.isArray(signatures) ? signatures : [line]
  return list.flatMap((signature) => {
    const reference = memberOf(signature, 'reference')
    if (!isRequestId(reference)) return []
    const common = { time: text(time), event: text(event), jti: text(jti), client_id: text(client_id) }
    const by = { signer: text(memberOf(signature, 'signer')), kid: text(memberOf(signature, 'kid')) }
    return [{ ...common, ...by, reference: reference.toLowerCase(), at: Date.parse(text(time)) }]
  })
}

const readRecorded = async function* (
  files: readonly string[],
  look: (line: JsonObject) => void = () => {},
): AsyncGenerator<Recorded> {
  for (const file of files)
    for await (const line of readJsonLines(file)) {
      look(line)
      yield* signaturesOf(line)
    }
}

/**
 * Compares CloudTrail's record of every signature with our own. Reads the audit log twice and keeps only request ids
 * in memory. Throws `RecordsUnreadable`, or the system's error for a file that cannot be read.
 */
export const reconcile = async (options: ReconcileOptions): Promise<Reconciliation> => {
  const { from = -Infinity, until = Infinity } = options
  const inTime = (at: number): boolean => at >= from && at < until
  const ours = options.keys && createTrailKeys(options.keys)

  const open = new Set<string>()
  let recorded = 0
  for await (const { reference, at } of readRecorded(options.audit, ours?.learn)) {
    open.add(reference)
    if (inTime(at)) recorded++
  }

  const matched = new Set<string>()
  const unissued: UnissuedSignature[] = []
  const counts = { signatures: 0, failed: 0, others: 0 }
  // CloudTrail delivers some records twice.
  const seen = new Set<string>()
  for (const file of options.cloudtrail) {
    for await (const entry of readJsonRecords(file)) {
      const record = unwrap(entry)
      const request_id = text(record['requestID']).toLowerCase()
      const names = keysOf(record)
      const known = open.has(request_id)
      if (!isSign(record) || (!known && ours?.has(names) === false)) counts.others++
      else if (record['errorCode'] !== undefined) counts.failed++
      else if (!seen.has(request_id)) {
        seen.add(request_id)
        counts.signatures++
        const time = text(record['eventTime'])
        if (known) matched.add(request_id)
        else if (inTime(Date.parse(time)))
          unissued.push({
            time,
            request_id,
            key: names[0] ?? '',
            caller: text(memberOf(record['userIdentity'], 'arn')),
          })
      }
    }
  }

  const unsigned: UnsignedToken[] = []
  for await (const { at, ...signature } of readRecorded(options.audit))
    if (!matched.has(signature.reference) && inTime(at)) unsigned.push(signature)
  return { ...counts, recorded, matched: matched.size, unnamed: ours?.unnamed() ?? [], unissued, unsigned }
}
