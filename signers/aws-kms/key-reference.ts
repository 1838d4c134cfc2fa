import { KeyRefused } from '../../core/api/signer.js'

const arnForm = /^arn:(aws[a-z-]*):kms:([a-z0-9-]+):(\d{12}):((?:key|alias)\/[\w/-]{1,256})$/
const keyIdForm = /^[A-Za-z0-9-]{1,128}$/
const aliasForm = /^alias\/[\w/-]{1,250}$/

/**
 * What `ref` names in this region: an ARN of the first region stands for the replica of the same key in the others;
 * any other form is used in each region as it is. Throws `KeyRefused` for text that cannot name a key.
 */
export const keyReference = (ref: string, firstRegion: string, region: string): string => {
  if (keyIdForm.test(ref) || aliasForm.test(ref)) return ref
  const arn = arnForm.exec(ref)
  if (arn === null)
    throw new KeyRefused(
      `${shown(ref)} is not the name of a KMS key: write a key ARN, a key id, alias/NAME or an alias ARN`,
    )
  const [, partition = '', named = '', account = '', resource = ''] = arn
  if (named !== firstRegion)
    throw new KeyRefused(
      `${ref} is in the region ${named}, but the signer asks ${firstRegion}: check its option region`,
    )
  return `arn:${partition}:kms:${region}:${account}:${resource}`
}

/** Whether `ref` names a key by itself, rather than by an alias. */
export const isKeyName = (ref: string): boolean =>
  arnForm.test(ref) || /^(mrk-[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/.test(ref)

/** The AWS account in the ARN of a key. */
export const accountOf = (arn: string): string => arn.split(':', 5)[4] ?? ''

/** The alias of a new key. Throws `KeyRefused` for a name that an alias cannot have. */
export const aliasOf = (ref: string): string => {
  const alias = ref.startsWith('alias/') ? ref : `alias/${ref}`
  // The prefix is reserved for keys that AWS manages (API reference, `CreateAlias`).
  if (aliasForm.test(alias) && !alias.startsWith('alias/aws/')) return alias
  throw new KeyRefused(`${shown(ref)} cannot be an alias: letters, digits, "/", "_" and "-", not beginning with aws/`)
}

const shown = (ref: string): string => JSON.stringify(ref.length > 80 ? `${ref.slice(0, 80)}…` : ref)
