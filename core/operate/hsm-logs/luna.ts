import { isObject, type JsonObject, type JsonValue } from '../../json.js'
import { readJsonLines, readLines } from '../json-records.js'
import type { HsmEvent, HsmLogFormat } from './hsm-event.js'

/**
 * The operations that end a signature. `LUNA_SIGN` is a part of one that `LUNA_SIGN_END` ends, and `LUNA_SIGN_INIT`
 * its beginning.
 */
const signing: ReadonlySet<string> = new Set(['LUNA_SIGN_SINGLEPART', 'LUNA_SIGN_END'])
const succeeded: ReadonlySet<string> = new Set(['LUNA_RET_OK', 'LUNA_RET_SUCCESS'])

const signaturesOf = (operation: string, result: string): 0 | 1 =>
  signing.has(operation) && succeeded.has(result) ? 1 : 0

/** `23        ,04/08/24 15:00:18,session 12 Access 234:456 operation LUNA_LOGIN returned LUNA_RET_SUCCESS ,8948…` */
const line = /^\s*\d+\s*,(\d\d)\/(\d\d)\/(\d\d) (\d\d:\d\d:\d\d),.*?\boperation (LUNA_[A-Z0-9_]+) returned ([A-Z0-9_]+)/

const readLine = (text: string): HsmEvent | undefined => {
  const [, month = '', day = '', year = '', time = '', operation = '', result = ''] = line.exec(text) ?? []
  const at = Date.parse(`20${year}-${month}-${day}T${time}Z`)
  return Number.isNaN(at) ? undefined : { at, operation, result, signatures: signaturesOf(operation, result) }
}

/** The appliance and the card. */
export const luna: HsmLogFormat = {
  files: 'audit logs of a Luna HSM as text, from `audit log tarlogs`',
  source: 'Thales Luna HSM 7: Audit Log Categories and HSM Events; audit log',
  async *read(file) {
    for await (const text of readLines(file)) if (text.trim() !== '') yield readLine(text)
  },
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const readRecord = ({ time, action, status, source }: JsonObject): HsmEvent | undefined => {
  // `2022-10-30 14:52:47.046662 UTC`
  const at = Date.parse(text(time).replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,3})?)\d* UTC$/, '$1T$2Z'))
  const [operation, result] = [text(action), text(status)]
  if (Number.isNaN(at) || operation === '') return undefined
  return { at, operation, result, signatures: signaturesOf(operation, result), subject: text(source) }
}

/** The service of Data Protection on Demand. */
export const lunaCloud: HsmLogFormat = {
  files: 'audit logs of a Luna Cloud HSM service, JSON lines from the Audit Query API',
  source: 'Thales Data Protection on Demand: Service Audit Logs',
  async *read(file) {
    for await (const record of readJsonLines(file)) yield isObject(record) ? readRecord(record) : undefined
  },
}
