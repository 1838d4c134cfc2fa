import { createHmac, randomBytes } from 'node:crypto'
import { createSharedSecret } from '../../oauth/clients/shared-secret.js'
import { isSameText } from '../../oauth/same-text.js'
import type { RecordStore } from '../../storage/ports.js'

const timeLength = 5
const headLength = 12
const macLength = 12
const form = /^[\w-]{32}$/

/** Names of lists. Replicas share the secret, so each recognises our lists without asking the store. */
export interface ListIds {
  /** `endsAt` is when its last token has expired, in seconds since the epoch. Throws `Unavailable`. */
  make(endsAt: number): Promise<string>
  /** Whether the id is one of ours. Throws `Unavailable`. */
  isOurs(id: string): Promise<boolean>
  /** The seed of the order of its indexes. Throws `Unavailable`. */
  seed(id: string): Promise<Uint8Array>
}

/** When the last token of one of our lists has expired, in seconds since the epoch. */
export const endOf = (id: string): number => Buffer.from(id, 'base64url').readUIntBE(0, timeLength)

/** An id consists of the end of the list, a random part, and a MAC of both. */
export const createListIds = (secrets: RecordStore<string>): ListIds => {
  const secret = createSharedSecret(secrets, 'status_lists')
  const macOf = async (use: 'id' | 'order', head: Uint8Array): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(use)
      .update(head)
      .digest()
  const complete = async (head: Uint8Array): Promise<string> =>
    Buffer.concat([head, (await macOf('id', head)).subarray(0, macLength)]).toString('base64url')
  const headOf = (id: string): Buffer => Buffer.from(id, 'base64url').subarray(0, headLength)

  return {
    make(endsAt) {
      const head = randomBytes(headLength)
      head.writeUIntBE(endsAt, 0, timeLength)
      return complete(head)
    },
    isOurs: async (id) => form.test(id) && isSameText(await complete(headOf(id)), id),
    seed: (id) => macOf('order', headOf(id)),
  }
}
