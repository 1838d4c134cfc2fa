import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { collections } from '../core/collections/collections.js'
import { createGrantIndex } from '../core/oauth/grants/grant-index.js'
import { newGrantId } from '../core/oauth/grants/grant-id.js'
import type { AuthorizationCode } from '../core/oauth/grants/grant.js'
import { hashOpaqueToken, newOpaqueToken } from '../core/opaque-token.js'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { openMongodb } from '../stores/mongodb/open-mongodb.js'
import type { StorageBackend } from '../core/storage/ports.js'
import type { CodeRequest } from './contestant.js'
import type { BenchStores } from '../test/support/peer/stores.js'

/** Stores codes in a running Signet, as `/authorize` does. Not measured. */
interface Request extends CodeRequest {
  readonly count: number
  readonly redirectUri: string
  readonly codeChallenge: string
  readonly resource: string
}

const [directory = '', given = 'null', size = '1024'] = process.argv.slice(2)
const stores = JSON.parse(given) as BenchStores | null
const store: StorageBackend = stores
  ? await openMongodb({ uri: stores.mongodb, database: stores.database, clock: Date.now })
  : await openEmbedded({ path: join(directory, 'store'), clock: Date.now, max_size_mb: Number(size) })
const { codes, grantIndex: entries } = collections({
  records: store,
  ephemeral: store,
  [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
})

const grantIndex = createGrantIndex({ store: entries, clock: Date.now, lifetime: { offline: 86_400, online: 86_400 } })

const mint = async ({
  clientId,
  scope,
  forResource,
  redirectUri,
  codeChallenge,
  resource,
}: Request): Promise<string> => {
  const code = newOpaqueToken()
  const record: AuthorizationCode = {
    grantId: newGrantId(Date.now),
    clientId,
    subject: 'alice',
    scope: scope.split(' '),
    resource: forResource ? [resource] : [],
    authentication: {
      auth_time: Math.floor(Date.now() / 1000),
      amr: ['pwd'],
      nonce: 'n-0S6_WzA2Mj',
      sid: randomUUID(),
    },
    redirectUri,
    redirectUriSent: true,
    codeChallenge,
  }
  await grantIndex.add(record)
  await codes.put(hashOpaqueToken(code), record, 600)
  return code
}

/** Enough at once to fill the store's batches, and few enough to avoid many thousands of promises. */
const together = stores ? 32 : 256

process.on('message', (request: Request) => {
  const made: string[] = []
  const work = async (): Promise<void> => {
    while (made.length < request.count) {
      const missing = Math.min(together, request.count - made.length)
      made.push(...(await Promise.all(Array.from({ length: missing }, () => mint(request)))))
    }
    process.send?.({ codes: made })
  }
  void work()
})
process.send?.('ready')
