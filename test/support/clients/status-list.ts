import { inflateSync } from 'node:zlib'
import { decodeJws } from './attestation.js'

/** The bit of `idx` in a status list. Libraries make an array of a million numbers, which keeps a process busy for half a second. */
export const readStatus = (list: string, idx: number): number => {
  const { lst } = decodeJws(list).payload['status_list'] as { readonly lst: string }
  const bytes = inflateSync(Buffer.from(lst, 'base64url'))
  return (Number(bytes[idx >> 3]) >> (idx & 7)) & 1
}
