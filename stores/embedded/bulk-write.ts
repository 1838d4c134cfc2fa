import { Unavailable, within } from '../../core/api/storage.js'
import { bytesToChange } from './disk-room.js'
import { encodeEnvelope, type Envelope } from './envelope.js'
import type { Environment } from './environment.js'
import { commitFailure, orUnavailable, unavailable } from './failure.js'
import { exitInSpiteOf } from './hanging.js'
import { expiryKey } from './key.js'

/** A record that takes the place of what its key has, whatever that is. */
export interface Replacement {
  readonly key: Buffer
  readonly envelope: Envelope
}

interface Row {
  readonly key: Buffer
  readonly text: string
  readonly expires: number | undefined
}

/** Records of one transaction: it keeps other writers waiting for about 10 ms. */
const maxRecords = 1024
const deadlineMs = 5_000
const anchor = Buffer.from([1])

const inTime = (component: string, written: Promise<unknown>): Promise<unknown> =>
  within(deadlineMs, written, () => new Unavailable(component, 'unknown', `no answer within ${deadlineMs} ms`))

/** Returns the number of these that may be written now. A full store still accepts replacements. Throws `Unavailable`. */
const countThatFit = ({ records, disk, isFull }: Environment, component: string, rows: readonly Row[]): number =>
  orUnavailable(component, () => {
    let room = disk.left() - disk.forCollecting
    const end = rows.findIndex(({ text }) => (room -= bytesToChange(text.length)) < 0)
    if (end === 0) throw new Error('the disk is full')
    const fitting = end === -1 ? rows.length : end
    if (isFull() && rows.slice(0, fitting).some(({ key }) => !records.doesExist(key)))
      throw new Error('the store is full')
    return fitting
  })

const writeTransaction = async (
  { records, expiry }: Environment,
  component: string,
  rows: readonly Row[],
): Promise<void> => {
  const outcomes: Promise<unknown>[] = []
  const batch = records.batch(() => {
    for (const { key, text, expires } of rows) {
      if (expires !== undefined) outcomes.push(expiry.put(expiryKey(expires, key), anchor))
      // A new version, so that a change that was decided on the record before is decided again.
      outcomes.push(records.put(key, text, 1 + Math.random()))
    }
  })
  const written = Promise.all([batch, ...outcomes])
  void Promise.allSettled(outcomes)
  exitInSpiteOf(written)
  try {
    await inTime(component, written)
  } catch (error) {
    throw error instanceof Unavailable ? error : unavailable(component, 'unknown', await commitFailure(error))
  }
}

/**
 * Writes records that need no decision, many in a transaction and without the queue of single changes. All are on disk
 * when it resolves. Throws `Unavailable`.
 */
export const writeInBulk = async (
  environment: Environment,
  component: string,
  replacements: readonly Replacement[],
): Promise<void> => {
  for (let start = 0; start < replacements.length;) {
    const rows = replacements
      .slice(start, start + maxRecords)
      .map(({ key, envelope }) => ({ key, text: encodeEnvelope(envelope), expires: envelope.expires }))
    const fitting = countThatFit(environment, component, rows)
    await writeTransaction(environment, component, rows.slice(0, fitting))
    start += fitting
  }
}
