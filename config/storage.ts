import { z } from 'zod'
import { findNearMiss } from './near-miss.js'
import { secret, text } from './fields.js'

const embedded = z.strictObject({
  use: z.literal('embedded'),
  options: z
    .strictObject({
      path: text.default('./data/store'),
      /** MiB that records may take; beyond it new ones are refused. */
      max_size_mb: z.int().min(1).max(1_048_576).default(1024),
    })
    .prefault({}),
})

const mongodb = z.strictObject({
  use: z.literal('mongodb'),
  options: z.strictObject({
    uri: text.regex(/^mongodb(\+srv)?:\/\/./, 'must begin with mongodb:// or mongodb+srv://').pipe(secret),
    database: z
      .string()
      .regex(/^[^\0/\\. "$*<>:|?]{1,63}$/, 'must be a name of a database: 1 to 63 characters, none of /\\. "$*<>:|?')
      .default('signet'),
    /** Connections to each server. */
    max_pool_size: z.int().min(1).max(1000).default(50),
    /** MiB that what is short-lived may take. */
    max_size_mb: z.int().min(1).max(1_048_576).default(1024),
  }),
})

const checkRedisUri = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be an absolute URL'
  const { protocol, hostname, pathname, search, hash } = new URL(value)
  if (protocol !== 'redis:' && protocol !== 'rediss:') return 'must begin with redis:// or, for TLS, rediss://'
  if (hostname === '') return 'must name a host'
  if (!/^(?:\/\d{0,4})?$/.test(pathname)) return 'may end only with the number of a database'
  if (search !== '' || hash !== '') return 'must have no query and no fragment'
  return undefined
}

const redisUri = text
  .superRefine((value, context) => {
    const message = checkRedisUri(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })
  .pipe(secret)

const node = z.string().regex(/^(?:[\w.-]+|\[[\da-fA-F:]+\]):\d{1,5}$/, 'must be host:port')

/** The address in `uri` is that of the server, of one sentinel, or of one node of the cluster; `nodes` are the others. */
const redis = z.strictObject({
  use: z.literal('redis'),
  options: z
    .strictObject({
      uri: redisUri,
      key_prefix: z
        .string()
        .regex(/^[\w:.-]{1,64}$/, 'must be 1 to 64 letters, digits, `_`, `:`, `.` and `-`')
        .default('signet:'),
      /** Of the server's certificate, where no public authority made it. */
      ca: z
        .string()
        .regex(/-----BEGIN CERTIFICATE-----/, 'must be the PEM text of a certificate; write {$file: path} to read it')
        .optional(),
      sentinel: z
        .strictObject({
          name: text,
          nodes: z.array(node).default([]),
          username: text.optional(),
          password: secret.optional(),
        })
        .optional(),
      cluster: z
        .strictObject(
          { nodes: z.array(node).default([]) },
          {
            error: (issue) =>
              issue.code === 'invalid_type'
                ? 'must be a section such as { nodes: [] }, or { nodes: [host:port] } with further nodes'
                : undefined,
          },
        )
        .optional(),
      /** MiB that our entries may take where the server has no `maxmemory`, or does not tell it. */
      max_size_mb: z.int().min(1).max(1_048_576).default(1024),
      /** Where the account may not read the server's settings, the operator has to know them. */
      eviction_policy_acknowledged: z
        .literal('noeviction', { error: 'must be noeviction: with any other policy Redis forgets what was used' })
        .optional(),
    })
    .refine((options) => options.sentinel === undefined || options.cluster === undefined, {
      path: ['cluster'],
      message: 'must not be given together with sentinel: a cluster does its own fail-over',
    }),
})

const refused: Readonly<Record<string, string>> = {
  redis: 'redis: only for storage.ephemeral; it may lose what it has acknowledged',
}

/** What is wrong with a `use` that names none of the forms. */
const explainUse = (words: readonly string[]) => (issue: { readonly code: string; readonly input?: unknown }) => {
  if (issue.code !== 'invalid_union') return undefined
  const { use } = issue.input as { readonly use?: unknown }
  if (use === undefined) return 'is required'
  const reason = typeof use === 'string' ? refused[use] : undefined
  const meant = typeof use === 'string' ? findNearMiss(use, words) : undefined
  return reason ?? `must be one of ${words.join(', ')}${meant === undefined ? '' : `; did you mean \`${meant}\`?`}`
}

const ownWords = ['embedded', 'mongodb', 'redis']

/** Is it the module of somebody else, and not a built-in store that was misspelt? */
export const isAdapter = (use: string): boolean => !ownWords.includes(use) && findNearMiss(use, ownWords) === undefined

/** `./file.js` beside the file, or an npm package; its module says what its options are. */
const adapter = z
  .strictObject({ use: text.refine(isAdapter), options: z.unknown().optional() })
  .transform(({ use, options }) => ({ use: 'adapter' as const, module: use, options, directory: '.' }))

const recordsBackend = z.union([
  z.discriminatedUnion('use', [embedded, mongodb], { error: explainUse(['embedded', 'mongodb']) }),
  adapter,
])
const ephemeralBackend = z.union([
  z.discriminatedUnion('use', [embedded, mongodb, redis], { error: explainUse(ownWords) }),
  adapter,
])

/** Only the reader of the file knows where to look for `./file.js` and npm packages. */
export const locateAdapters = <Choice extends { readonly use: string }>(
  choices: Readonly<Record<'records' | 'ephemeral', Choice>>,
  directory: string,
): Record<'records' | 'ephemeral', Choice> => {
  const locate = (choice: Choice): Choice => (choice.use === 'adapter' ? { ...choice, directory } : choice)
  return { records: locate(choices.records), ephemeral: locate(choices.ephemeral) }
}

/** Relative paths of built-in stores are relative to the working directory. */
export const storage = z
  .strictObject({
    records: recordsBackend.prefault({ use: 'embedded' }),
    ephemeral: ephemeralBackend.prefault({ use: 'embedded' }),
  })
  .prefault({})
