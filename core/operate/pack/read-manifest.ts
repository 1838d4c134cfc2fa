import { z } from 'zod'
import type { KeyLogPart } from './key-log-part.js'
import { packFormat, partNames, sealNames, type ChainProof, type Manifest } from './pack.js'

const time = z.iso.datetime()
const digest = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const count = z.int().min(0)
const writer = z.string().max(64)
const head = z.string().max(64)
/** No part of a pack has a folder, and none is hidden. */
const partName = z
  .string()
  .regex(/^[a-z0-9]+(?:[.-][a-z0-9]+)*$/)
  .max(64)

const sealed: readonly string[] = Object.values(sealNames)

const manifest = z.object({
  format: z.literal(packFormat),
  version: z.string().max(64),
  commit: z.string().max(64).optional(),
  issuer: z.string().max(2048),
  range: z.strictObject({ from: time, to: time }),
  made_at: time,
  made_by: z.record(z.string(), z.json()),
  timestamp_authority: z.string().max(2048).optional(),
  files: z
    .array(z.strictObject({ name: partName, bytes: count, sha256: digest }))
    .max(64)
    .refine((files) => new Set(files.map(({ name }) => name)).size === files.length)
    .refine((files) => files.every(({ name }) => !sealed.includes(name))),
})

const chain = z.object({
  lines: count,
  files: z.array(count),
  before: z.strictObject({
    writers: z.array(z.strictObject({ writer, pid: z.number(), seq: count, head })),
    hashes: z.array(head),
  }),
  after: z.array(z.strictObject({ writer, pid: z.number(), seq: count, prev: head.nullable() })),
  named: z.array(head),
  heads: z.array(z.strictObject({ writer, seq: count, head })),
})

const keys = z.object({
  signers: z.array(z.object({ signer: z.string(), status: z.string(), reason: z.string().optional() })),
  keys: z.array(
    z.object({
      kid: z.string(),
      alg: z.string(),
      thumbprint: z.string().optional(),
      jwk: z.record(z.string(), z.string()).optional(),
      backend: z.object({ status: z.string(), thumbprint: z.string().optional(), reason: z.string().optional() }),
    }),
  ),
})

/** Some builds have no bill of materials, and some deployments no key log. */
const optionalParts: readonly string[] = [partNames.sbom, partNames.keyLog]

/** The parts that every pack has. */
export const neededParts: readonly string[] = Object.values(partNames).filter((name) => !optionalParts.includes(name))

const hashes = z.array(z.string().max(64)).max(64)
const logState = z.strictObject({ size: count, root: z.string().max(64).optional() })

const keyLog = z.strictObject({
  checkpoint: z.string(),
  begins: logState,
  ends: logState,
  consistency: z.strictObject({ range: hashes, checkpoint: hashes }),
  entries: z.array(z.strictObject({ index: count, entry: z.string(), proof: hashes })),
})

const parseWith = <T>(schema: z.ZodType<T>, value: unknown): T | undefined => schema.safeParse(value).data

/** Undefined for anything but the manifest of a pack of this format. */
export const parseManifest = (value: unknown): Manifest | undefined =>
  parseWith(manifest, value) as Manifest | undefined

export const parseChain = (value: unknown): ChainProof | undefined => parseWith(chain, value)

/** A key of the inventory, with the members that are checked. */
export type ReadKey = ReadInventory['keys'][number]
export type ReadInventory = z.infer<typeof keys>

export const parseKeys = (value: unknown): ReadInventory | undefined => parseWith(keys, value)

export const parseKeyLog = (value: unknown): KeyLogPart | undefined =>
  parseWith(keyLog, value) as KeyLogPart | undefined
