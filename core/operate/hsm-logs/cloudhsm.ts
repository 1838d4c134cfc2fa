import { isObject, type JsonObject } from '../../json.js'
import { readJsonRecords, readLines, RecordsUnreadable } from '../json-records.js'
import type { HsmEvent, HsmLogFormat } from './hsm-event.js'

/** Most lines of one event. */
const maxLines = 64

/** `Time: 12/19/17 21:01:17.140812, usecs:1513717277140812`, at times after the time of CloudWatch. */
const start = /^(?:\d{4}-\d\d-\d\dT\S+\s+)?Time\s*:/

const fieldOf = (event: string, name: string): string =>
  new RegExp(`^\\s*${name}\\s*:\\s*(.*?)\\s*$`, 'im').exec(event)?.[1] ?? ''

/** The names before their codes: `CN_LOGIN (0xd)`. */
const wordOf = (value: string): string => value.split(' ', 1)[0] ?? ''

const readEvent = (event: string, log: string): HsmEvent | undefined => {
  const at = Number(/\busecs\s*:\s*(\d{1,17})\b/.exec(event)?.[1] ?? NaN) / 1000
  const operation = wordOf(fieldOf(event, 'Opcode'))
  if (Number.isNaN(at) || operation === '') return undefined
  const number = Number(wordOf(fieldOf(event, 'Sequence No')) || NaN)
  const [reboot, handle, user] = ['Reboot counter', 'Priv/Secret Key Handle', 'User Name'].map((name) =>
    fieldOf(event, name),
  )
  const subject = handle || user
  return {
    at,
    operation,
    result: fieldOf(event, 'Response').replace(/^.*Return:\s*/i, ''),
    signatures: 0,
    ...(subject && { subject }),
    ...(Number.isSafeInteger(number) && { sequence: { log: `${log} ${reboot ?? ''}`.trim(), number } }),
  }
}

const readText = async function* (file: string): AsyncGenerator<HsmEvent | undefined> {
  let event: string[] = []
  for await (const raw of readLines(file)) {
    const line = raw.replace(/\r$/, '')
    if (start.test(line)) {
      if (event.length > 0) yield readEvent(event.join('\n'), file)
      event = [line]
    } else if (event.length === 0) {
      if (line.trim() !== '') yield undefined
    } else if (event.push(line) > maxLines) throw new RecordsUnreadable(`${file}: has an event of too many lines`)
  }
  if (event.length > 0) yield readEvent(event.join('\n'), file)
}

/** `aws logs get-log-events` and `filter-log-events`: the text of each event is its `message`. */
const readRecord = ({ message, logStreamName }: JsonObject, file: string): HsmEvent | undefined =>
  typeof message === 'string' ? readEvent(message, typeof logStreamName === 'string' ? logStreamName : file) : undefined

const isJson = async (file: string): Promise<boolean> => {
  for await (const line of readLines(file)) if (line.trim() !== '') return /^\s*[{[]/.test(line)
  return false
}

export const cloudhsm: HsmLogFormat = {
  files: 'audit logs of AWS CloudHSM from CloudWatch Logs: text, or JSON of `aws logs`',
  source: 'AWS CloudHSM User Guide: Interpreting HSM audit logs; HSM audit log reference',
  uncounted: 'AWS CloudHSM records management commands only, and no signatures.',
  async *read(file) {
    if (!(await isJson(file))) yield* readText(file)
    else for await (const record of readJsonRecords(file)) yield isObject(record) ? readRecord(record, file) : undefined
  },
}
