import type { X509Certificate } from 'node:crypto'

/** Signatures verified in one search. The limit is needed because certificates can be made to fork. */
const maxSignatures = 8

const holderOf = ({ subject, publicKey }: X509Certificate): string =>
  `${subject}\n${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`

/** For one key: whose signature was valid, and for whom it was not. */
interface Checked {
  readonly right: Set<X509Certificate>
  readonly wrong: Set<string>
}

/**
 * Whether the key of the second certificate signed the first. Names, key identifiers and key usage are compared
 * before. A key that fails is remembered for all certificates with the same subject and key.
 */
export const createSignatureChecks = (): ((below: X509Certificate, above: X509Certificate) => boolean) => {
  const known = new Map<X509Certificate, Checked>()
  let left = maxSignatures
  return (below, above) => {
    if (!below.checkIssued(above)) return false
    const checked = known.get(above) ?? { right: new Set(), wrong: new Set() }
    known.set(above, checked)
    if (checked.right.has(below)) return true
    const holder = holderOf(below)
    if (checked.wrong.has(holder) || left === 0) return false
    left--
    const isRight = below.verify(above.publicKey)
    if (isRight) checked.right.add(below)
    else checked.wrong.add(holder)
    return isRight
  }
}
