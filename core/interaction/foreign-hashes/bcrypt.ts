import { verify } from '@node-rs/bcrypt'
import type { ForeignScheme } from './scheme.js'

const form = /^\$2[aby]\$(\d{2})\$[./A-Za-z0-9]{53}$/

/** At 13 one verification takes 0.45 s. */
const [leastCost, mostCost] = [4, 13]

/** bcrypt in the notation of OpenBSD; it reads 72 bytes of a password, as it always has. */
export const bcrypt: ForeignScheme = {
  accepts(hash) {
    const cost = Number(form.exec(hash)?.[1])
    return cost >= leastCost && cost <= mostCost
  },
  // The three versions differ only in faults of old implementations, which their hashes no longer have.
  verify: (password, hash) => verify(password, hash.replace(/^\$2[ay]/, '$2b')),
}
