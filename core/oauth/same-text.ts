import { timingSafeEqual } from 'node:crypto'

/** Compares hashes and thumbprints in constant time, so that timing does not reveal how much of them is the same. */
export const isSameText = (left: string, right: string): boolean => {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}
