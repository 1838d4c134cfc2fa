import type { X509Certificate } from 'node:crypto'

/** That one search may verify: certificates can be made to fork. */
const maxSignatures = 8

const holderOf = ({ subject, publicKey }: X509Certificate): string =>
  `${subject}\n${publicKey.export({ type: 'spki', format: 'der' }).toString('base64')}`

/** Whose signature by one key was right, and for whom it was wrong. */
interface Checked {
  readonly right: Set<X509Certificate>
  readonly wrong: Set<string>
}

/**
 * Has the key of the second certificate signed the first one? Names and key identifiers are compared before, and the use of
 * the key. One that is wrong is wrong for every certificate of the same subject and key.
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
