import { timingSafeEqual } from 'node:crypto'

/** Compares hashes and thumbprints without telling by time how much of them is the same. */
export const isSameText = (left: string, right: string): boolean => {
  const [one, other] = [Buffer.from(left), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}
