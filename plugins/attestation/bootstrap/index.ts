import { hash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import { definePlugin, epochSeconds, type AttemptPolicy } from '../../../core/api/index.js'
import { principalDigest } from '../../../core/api/attestation.js'
import { isoTime } from '../../../core/api/internal.js'

const kind = 'bootstrap_secret'
const secretBytes = 32
const pageSize = 100

const options = z.strictObject({ expires_secs: z.int().min(1).max(31_536_000).default(86_400) }).prefault({})

/** 256 bits cannot be guessed. The limit reduces noise, and lets an installer continue soon after a mistake. */
const guesses: AttemptPolicy = { free: 10, baseDelaySeconds: 1, maxDelaySeconds: 60, forgetAfterSeconds: 3600 }

/** A secret that an operator gives to a service. It enrols one key, once, within its lifetime. */
export default definePlugin({
  name: 'attestation/bootstrap',
  apiVersion: 1,
  options,
  needs: ['clock', 'attempts', 'factorRecords'],
  create: ({ expires_secs: expiresSeconds }: z.output<typeof options>, { clock, attempts, factorRecords }) => {
    // Each secret has its own record, under its hash, so that removing it uses up this secret and no later one.
    const prefixOf = (digest: string): string => `${kind}:${digest}:`
    const idOf = (digest: string, secret: string): string => `${prefixOf(digest)}${hash('sha256', secret, 'base64url')}`

    const removeAllBut = async (digest: string, kept?: string): Promise<boolean> => {
      const prefix = prefixOf(digest)
      let [after, removed] = [prefix, false]
      for (;;) {
        const page = await factorRecords.list(after, pageSize)
        const ours = page.map(({ id }) => id).filter((id) => id.startsWith(prefix))
        for (const id of ours) if (id !== kept && (await factorRecords.remove(id))) removed = true
        const last = ours.at(-1)
        if (last === undefined || ours.length < pageSize) return removed
        after = last
      }
    }

    return {
      secondFactors: [
        {
          kind,
          async verify({ principal }, { value }) {
            const digest = principalDigest(principal)
            const id = idOf(digest, value)
            // Read before the attempt is counted, so that an outage counts none. A caller that has to wait learns
            // nothing from it.
            const found = await factorRecords.find(id)
            // Applies to everybody, so that parallel guesses are counted and unknown principals are slowed down
            // alike.
            if (!(await attempts.take(kind, digest, guesses)).allowed)
              return { ok: false, reason: 'too many wrong bootstrap secrets' }
            if (found === undefined) return { ok: false, reason: 'the bootstrap secret is wrong, expired or was used' }
            await attempts.clear(kind, digest)
            return { ok: true, consume: () => factorRecords.remove(id) }
          },
          async issue(principal) {
            const digest = principalDigest(principal)
            const secret = randomBytes(secretBytes).toString('base64url')
            const id = idOf(digest, secret)
            const issuedAt = epochSeconds(clock)
            await factorRecords.put(id, { issued_at: issuedAt }, { ttlSeconds: expiresSeconds })
            await removeAllBut(digest, id)
            const expires = isoTime((issuedAt + expiresSeconds) * 1000)
            return { lines: { secret, expires } }
          },
          withdraw: (principal) => removeAllBut(principalDigest(principal)),
        },
      ],
    }
  },
})
