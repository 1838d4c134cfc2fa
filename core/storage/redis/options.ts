/** `storage.ephemeral.options` where `use` is `redis`. */
export interface RedisOptions {
  /** `redis://user:password@host:port/database`, `rediss://` with TLS: of the server, one sentinel, or one node of the cluster. */
  readonly uri: string
  /** Begins every key. */
  readonly key_prefix: string
  /** PEM: of the server's certificate, where no public authority made it. */
  readonly ca?: string | undefined
  /** Asks sentinels which server is the primary; `nodes` are those beside the one in `uri`. */
  readonly sentinel?:
    | {
        readonly name: string
        readonly nodes: readonly string[]
        readonly username?: string | undefined
        readonly password?: string | undefined
      }
    | undefined
  /** `nodes`: some beside the one in `uri`; the rest is found. */
  readonly cluster?: { readonly nodes: readonly string[] } | undefined
  /** MiB for our entries where the server has no `maxmemory`, or does not tell it; default 1024. */
  readonly max_size_mb?: number
  /** What the operator vouches for where the account may not read it. */
  readonly eviction_policy_acknowledged?: 'noeviction' | undefined
}
