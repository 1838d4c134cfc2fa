import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { verifySignature } from '../../../../core/jose/verify-signature.js'
import { checkPublicJwk } from '../../../../core/jose/public-key-guard.js'
import type { Log, Signer } from '../../../../core/api/signer.js'

/** A log that can be read: which child runs, and why the last one ended. */
export interface Journal extends Log {
  readonly lines: string[]
  /** The processes that were ready, in order. */
  readonly pids: number[]
}

export const newJournal = (): Journal => {
  const lines: string[] = []
  const pids: number[] = []
  const write = (message: string, fields?: object): void => {
    lines.push(`${message} ${JSON.stringify(fields ?? {})}`)
    const pid: unknown = fields !== undefined && 'child_pid' in fields ? fields.child_pid : undefined
    if (typeof pid === 'number') pids.push(pid)
  }
  return { lines, pids, debug: write, info: write, warn: write, error: write }
}

export const never = new AbortController().signal

/** Does what the signer signs verify with what it says is its key? */
export const signsRightly = async (signer: Signer, message = Buffer.from('message')): Promise<boolean> => {
  const { publicKey } = checkPublicJwk(signer.publicJwk, [signer.alg])
  const signature = await signer.sign(message, never)
  return verifySignature({ alg: signer.alg, jwk: signer.publicJwk, publicKey }, message, signature)
}

/** Until it signs again, by itself. */
export const recovers = (signer: Signer): Promise<void> =>
  expect.poll(() => signsRightly(signer).catch(() => false), { timeout: 30_000, interval: 50 }).toBe(true)

/** A process that has ended and that nobody has asked about yet (a zombie) does not run. */
export const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'latin1'))
  } catch {
    return false
  }
}
