import type { Tag } from '@aws-sdk/client-kms'
import { createHash } from 'node:crypto'
import type { KeyTags } from '../../core/api/signer.js'

const names = { deployment: 'signet:deployment', slot: 'signet:slot', kid: 'signet:kid' } as const
const members = Object.keys(names) as readonly (keyof KeyTags)[]
/** API reference, `Tag`. */
const longestValue = 256

/**
 * AWS takes letters, digits, spaces and `+ - = . _ : / @`. Each other byte, and `@` itself, is written as `@` and two
 * hexadecimal digits. A value that is too long ends with `@@` and a digest of all of it.
 */
const encode = (value: string): string => {
  const text = value.replaceAll(/[^A-Za-z0-9 +\-=._:/]/gu, (char) =>
    [...Buffer.from(char)].map((byte) => `@${byte.toString(16).padStart(2, '0')}`).join(''),
  )
  if (text.length <= longestValue) return text
  const digest = `@@${createHash('sha256').update(value).digest('hex')}`
  return `${text.slice(0, longestValue - digest.length)}${digest}`
}

const decode = (text: string): string =>
  Buffer.from(
    text.replaceAll(/@([0-9a-f]{2})|([^@]|@)/gu, (_all, hex: string | undefined, char: string) =>
      hex === undefined ? Buffer.from(char).toString('hex') : hex,
    ),
    'hex',
  ).toString()

/** The tags of a key of a slot, as KMS stores them. */
export const kmsTags = (tags: KeyTags): Tag[] =>
  members.map((member) => ({ TagKey: names[member], TagValue: encode(tags[member]) }))

/** Whether these tags of KMS include all of `wanted`. */
export const hasTags = (tags: readonly Tag[], wanted: Partial<KeyTags>): boolean =>
  members.every((member) => {
    const value = wanted[member]
    return value === undefined || tags.some((tag) => tag.TagKey === names[member] && tag.TagValue === encode(value))
  })

/** Our tags among those of a key. */
export const readTags = (tags: readonly Tag[]): Partial<KeyTags> =>
  Object.fromEntries(
    members.flatMap((member) => {
      const value = tags.find(({ TagKey }) => TagKey === names[member])?.TagValue
      return value === undefined ? [] : [[member, decode(value)]]
    }),
  )
