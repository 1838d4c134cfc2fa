import { z } from 'zod'
import { definePlugin } from '../../../core/api/index.js'
import type { SecondFactorVerifier } from '../../../core/api/attestation.js'
import { createWaitingRoom } from './waiting-room.js'

const day = 86_400

const options = z.strictObject({
  /** Counted from the first request. An approval ends then too. */
  expires_secs: z
    .int()
    .min(10)
    .max(7 * day)
    .default(3600),
  /** Seconds for which a denied request stays denied. */
  denied_secs: z
    .int()
    .min(1)
    .max(365 * day)
    .default(3600),
  retry_after_secs: z.int().min(1).max(3600).default(10),
  max_per_principal: z.int().min(1).max(100).default(3),
  /**
   * Per address as counted by `addressBucket`. Callers without one (a unix socket) are subject to the other limits
   * only.
   */
  max_per_address: z.int().min(1).max(10_000).default(10),
  max_waiting: z.int().min(1).max(10_000).default(1000),
})

/** Printable, on one line, and short enough to be read aloud. */
const messageForm = /^[\x21-\x7e](?:[\x20-\x7e]{0,62}[\x21-\x7e])?$/

/** The enrolment waits until a person has compared its message with what the device or service shows. */
export default definePlugin({
  name: 'attestation/approval',
  apiVersion: 1,
  options,
  needs: ['clock', 'factorRecords', 'factorClaims'],
  create(chosen, { clock, factorRecords, factorClaims }) {
    const room = createWaitingRoom({
      records: factorRecords,
      claims: factorClaims,
      clock,
      expiresSeconds: chosen.expires_secs,
      deniedSeconds: chosen.denied_secs,
      maxPerPrincipal: chosen.max_per_principal,
      maxPerAddress: chosen.max_per_address,
      maxWaiting: chosen.max_waiting,
    })
    const verifier: SecondFactorVerifier = {
      kind: 'approval',
      async verify(enrolment, { value }) {
        if (!messageForm.test(value))
          return { ok: false, reason: 'the message for the person is not 1 to 64 characters' }
        const asked = await room.ask(enrolment, value)
        if (asked.state === 'approved') return { ok: true, attributes: asked.attributes, consume: () => asked.use() }
        if (asked.state === 'denied') return { ok: false, reason: 'denied by an operator' }
        const reason = asked.state === 'full' ? 'too many enrolments wait' : 'waiting for approval'
        return { ok: false, reason, retryAfterSeconds: chosen.retry_after_secs }
      },
      waiting: () => room.list(),
      decide: (id, decision) => room.decide(id, decision),
    }
    return { secondFactors: [verifier] }
  },
})
