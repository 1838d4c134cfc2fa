import { verify } from '@node-rs/argon2'
import type { ForeignScheme } from './scheme.js'

const form =
  /^\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/

/** KiB, and KiB times passes: 0.4 s. */
const [mostMemory, mostWork, mostLanes] = [131_072, 393_216, 16]

/** Argon2 in each of its variants, as a PHC string (RFC 9106). */
export const argon2: ForeignScheme = {
  accepts(hash) {
    const [memory, passes, lanes] = (form.exec(hash) ?? []).slice(1).map(Number)
    if (memory === undefined || passes === undefined || lanes === undefined) return false
    return passes > 0 && lanes > 0 && lanes <= mostLanes && memory <= mostMemory && memory * passes <= mostWork
  },
  verify: (password, hash) => verify(hash, password),
}
