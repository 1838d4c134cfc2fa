import { randomBytes } from 'node:crypto'
import type { RecordStore } from '../../storage/ports.js'

/**
 * A secret of 256 bits that all replicas share. The first replica to ask creates it, and each process reads it once,
 * however many callers ask at the same time (F36). `id` names its purpose. Throws `Unavailable` until it has been
 * read.
 */
export const createSharedSecret = (secrets: RecordStore<string>, id: string): (() => Promise<string>) => {
  let secret: Promise<string> | undefined

  const read = async (): Promise<string> => {
    const found = await secrets.find(id)
    if (found !== undefined) return found
    const fresh = randomBytes(32).toString('base64url')
    if (await secrets.put(id, fresh, { onlyIfAbsent: true })) return fresh
    return read()
  }

  return () =>
    (secret ??= read().catch((error: unknown) => {
      secret = undefined
      throw error
    }))
}
