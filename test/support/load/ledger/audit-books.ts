import { createHash } from 'node:crypto'
import { createLocalJWKSet, decodeJwt, jwtVerify, type JSONWebKeySet } from 'jose'
import type { Ledger } from './ledger.js'

type Json = Readonly<Record<string, unknown>>

export interface Books {
  readonly ledger: Ledger
  /** The service's audit log. */
  readonly audit: readonly Json[]
  /** As relying parties have read it. */
  readonly keySet: JSONWebKeySet
  readonly issuer: string
}

interface Signature {
  readonly digest: string
  readonly kid: string
}

const tokensOf = ({ access_token, id_token }: Json): readonly string[] =>
  [access_token, id_token].filter((token): token is string => typeof token === 'string')

const digestOf = (token: string): string =>
  createHash('sha256')
    .update(token.slice(0, token.lastIndexOf('.')))
    .digest('base64url')

/**
 * The one oracle of the faults: everything that contradicts the rules, from the answers that clients got and from the
 * audit log. Empty when the books balance.
 */
export const auditBooks = async ({ ledger, audit, keySet, issuer }: Books): Promise<readonly string[]> => {
  const found: string[] = []
  const successes = new Map<string, number>()
  const keys = createLocalJWKSet(keySet)
  const answered = new Set<string>()

  const signatures = new Map<string, Signature>()
  for (const line of audit) {
    if (line['event'] !== 'token.signed') continue
    for (const signature of line['signatures'] as readonly Signature[]) signatures.set(signature.digest, signature)
  }
  const issued = new Set(audit.flatMap(({ event, jti }) => (event === 'token.issued' ? [String(jti)] : [])))

  for (const { once, honest, never, answer } of ledger.entries) {
    if (answer === undefined) {
      found.push('a request was never answered')
      continue
    }
    const { status, body } = answer
    if (status !== 200) {
      if (honest && status !== 503) found.push(`an honest client got ${status} ${String(body['error'])}`)
      continue
    }
    if (never) found.push('what may not succeed did')
    if (once !== undefined) successes.set(once, (successes.get(once) ?? 0) + 1)
    for (const token of tokensOf(body)) {
      const verified = await jwtVerify(token, keys, { issuer }).then(
        ({ protectedHeader }) => protectedHeader,
        () => undefined,
      )
      if (verified === undefined) found.push('a token left that its published key does not verify')
      const signature = signatures.get(digestOf(token))
      if (signature === undefined) found.push('a token left that the audit log does not know')
      else if (verified !== undefined && signature.kid !== verified.kid)
        found.push('a token left that the audit log has under another key')
    }
    const { jti } = decodeJwt(String(body['access_token']))
    answered.add(String(jti))
    if (!issued.has(String(jti))) found.push('a token left that was never recorded as issued')
  }
  for (const [once, count] of successes) if (count > 1) found.push(`${once} succeeded ${count} times`)
  for (const jti of issued) if (!answered.has(jti)) found.push('a token was recorded as issued that nobody got')
  return countEqual(found)
}

/** The published keys. */
export const readKeySet = async (issuer: string): Promise<JSONWebKeySet> =>
  (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet

/** `auditBooks` of a server that runs. */
export const auditServer = async (
  ledger: Ledger,
  { issuer, audit }: { readonly issuer: string; readonly audit: () => Promise<readonly Json[]> },
): Promise<readonly string[]> => auditBooks({ ledger, audit: await audit(), keySet: await readKeySet(issuer), issuer })

const countEqual = (found: readonly string[]): readonly string[] => {
  const counts = new Map<string, number>()
  for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1)
  return [...counts].map(([one, count]) => (count === 1 ? one : `${one} (${count} times)`))
}

/** What may succeed once and never did, although every client asked until it was served. */
export const unfinished = ({ entries }: Ledger): readonly string[] => {
  const wanted = new Set(entries.flatMap(({ once }) => once ?? []))
  for (const { once, answer } of entries) if (once !== undefined && answer?.status === 200) wanted.delete(once)
  return [...wanted]
}
