import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto'
import type { Reply } from '../endpoints/message.js'
import type { RecordLookup } from '../storage/ports.js'
import type { RepeatableRecord } from '../operators/repeatable-record.js'
import { Problem } from './problem.js'

export interface RepeatableRequest {
  readonly key: string | undefined
  readonly sender: string
  readonly request: string
}

export interface Repetitions {
  /**
   * Runs `work` for the first request with this key, and returns its answer to each repetition within 24 hours.
   * Without a key it runs `work`. Only answers of success are kept. Throws `Problem` for a key that was sent with
   * another request or whose request is under way, and `Unavailable`.
   */
  once(request: RepeatableRequest, work: () => Promise<Reply>): Promise<Reply>
}

const keptSeconds = 86_400
/** Longer than any request takes, so that a process that was killed does not hold up a repetition for long. */
const underWaySeconds = 30

const keyForm = /^[\x21-\x7e]{8,255}$/

const aeadKey = ({ key, request }: RepeatableRequest): Buffer =>
  Buffer.from(hkdfSync('sha256', key ?? '', request, 'idempotency', 32))

const seal = (request: RepeatableRequest, reply: Reply): string => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', aeadKey(request), nonce)
  const text = Buffer.concat([cipher.update(JSON.stringify(reply)), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
}

const open = (request: RepeatableRequest, sealed: string): Reply => {
  const bytes = Buffer.from(sealed, 'base64url')
  const decipher = createDecipheriv('aes-256-gcm', aeadKey(request), bytes.subarray(0, 12))
  decipher.setAuthTag(bytes.subarray(12, 28))
  return JSON.parse(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()) as Reply
}

/** Creates the memory of requests with `Idempotency-Key`, which all replicas share. */
export const createRepetitions = (records: RecordLookup<RepeatableRecord>): Repetitions => ({
  async once(wanted, work) {
    const { key, sender, request } = wanted
    if (key === undefined) return work()
    if (!keyForm.test(key))
      throw new Problem(400, 'invalid_idempotency_key', 'Idempotency-Key must have 8 to 255 visible characters.')
    const id = hash('sha256', JSON.stringify([sender, key]), 'base64url')
    const begun = await records.put(id, { request }, { ttlSeconds: underWaySeconds, onlyIfAbsent: true })
    if (!begun) {
      const known = await records.find(id)
      if (known !== undefined && known.request !== request)
        throw new Problem(422, 'idempotency_key_reused', 'The key was sent with another request.')
      if (known?.answer !== undefined) return open(wanted, known.answer)
      throw new Problem(409, 'under_way', 'The first request with this key is under way.', {
        headers: { 'Retry-After': '1' },
      })
    }
    try {
      const reply = await work()
      await records.put(id, { request, answer: seal(wanted, reply) }, { ttlSeconds: keptSeconds })
      return reply
    } catch (error) {
      // A request that was refused may be sent again after its cause is gone.
      if (error instanceof Problem) await records.remove(id)
      throw error
    }
  },
})
