import { z } from 'zod'
import { maxSizeMb } from '../../core/api/storage.js'

const checkRedisUri = (value: string): string | undefined => {
  if (!URL.canParse(value)) return 'must be an absolute URL'
  const { protocol, hostname, pathname, search, hash } = new URL(value)
  if (protocol !== 'redis:' && protocol !== 'rediss:') return 'must begin with redis:// or, for TLS, rediss://'
  if (hostname === '') return 'must name a host'
  if (!/^(?:\/\d{0,4})?$/.test(pathname)) return 'may end only with the number of a database'
  if (search !== '' || hash !== '') return 'must have no query and no fragment'
  return undefined
}

const redisUri = z
  .string()
  .min(1)
  .superRefine((value, context) => {
    const message = checkRedisUri(value)
    if (message !== undefined) context.addIssue({ code: 'custom', message })
  })

const node = z.string().regex(/^(?:[\w.-]+|\[[\da-fA-F:]+\]):\d{1,5}$/, 'must be host:port')

/** The address in `uri` is that of the server, one sentinel, or one node of the cluster. `nodes` lists others. */
export const redisOptions = z
  .strictObject({
    uri: redisUri.describe('`redis://user:password@host:6379/0`, or `rediss://` with TLS.'),
    key_prefix: z
      .string()
      .regex(/^[\w:.-]{1,64}$/, 'must be 1 to 64 letters, digits, `_`, `:`, `.` and `-`')
      .default('signet:')
      .describe('Begins every key.'),
    ca: z
      .string()
      .regex(/-----BEGIN CERTIFICATE-----/, 'must be the PEM text of a certificate; write {$file: path} to read it')
      .optional()
      .describe(
        'The authority of the certificate of the server, as PEM text, where it is no public one. `{ $file: tls/redis-ca.pem }`',
      ),
    sentinel: z
      .strictObject({
        name: z.string().min(1).describe('The name that the sentinels have for the primary.'),
        nodes: z.array(node).default([]).describe('The other sentinels.'),
        username: z
          .string()
          .min(1)
          .optional()
          .describe('User name at the sentinels themselves, where they ask for one.'),
        password: z.string().min(1).optional().describe('Password at the sentinels themselves.'),
      })
      .optional()
      .describe(
        'Ask sentinels for the primary; `uri` then has the address of one of them. See [storage.md](storage.md#redis).',
      ),
    cluster: z
      .strictObject(
        { nodes: z.array(node).default([]).describe('More nodes to begin with.') },
        {
          error: (issue) =>
            issue.code === 'invalid_type'
              ? 'must be a section such as { nodes: [] }, or { nodes: [host:port] } with further nodes'
              : undefined,
        },
      )
      .optional()
      .describe('The server is a cluster; `uri` has the address of one node.'),
    max_size_mb: maxSizeMb.describe(
      'The room in MiB, of which each class has its [share](limits.md#shares-of-the-stores), where the server has no `maxmemory` or does not tell it.',
    ),
    eviction_policy_acknowledged: z
      .literal('noeviction', { error: 'must be noeviction: with any other policy Redis forgets what was used' })
      .optional()
      .describe('Where the account may not run `INFO`, you vouch for `maxmemory-policy noeviction`.'),
  })
  .refine((options) => options.sentinel === undefined || options.cluster === undefined, {
    path: ['cluster'],
    message: 'must not be given together with sentinel: a cluster does its own fail-over',
  })

/** `storage.ephemeral.options` where `use` is `redis`. */
export interface RedisOptions {
  /**
   * `redis://user:password@host:port/database`, or `rediss://` with TLS: the server, one sentinel, or one node of the
   * cluster.
   */
  readonly uri: string
  /** Prefix of every key. */
  readonly key_prefix: string
  /** PEM certificate of the authority, if the server's certificate is not from a public one. */
  readonly ca?: string | undefined
  /** Asks sentinels which server is the primary. `nodes` lists those besides the one in `uri`. */
  readonly sentinel?:
    | {
        readonly name: string
        readonly nodes: readonly string[]
        readonly username?: string | undefined
        readonly password?: string | undefined
      }
    | undefined
  /** `nodes` lists some besides the one in `uri`; the rest is discovered. */
  readonly cluster?: { readonly nodes: readonly string[] } | undefined
  /** MiB for our entries if the server has no `maxmemory` or does not report it. Default 1024. */
  readonly max_size_mb?: number
  /** Confirmed by the operator when the account may not read it. */
  readonly eviction_policy_acknowledged?: 'noeviction' | undefined
}
