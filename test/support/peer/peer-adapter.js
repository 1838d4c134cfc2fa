import { Redis } from 'ioredis'
import { MongoClient } from 'mongodb'

/**
 * The adapter contract of oidc-provider, one operation of the store for each of its methods as the documentation has it: what
 * must not be lost in MongoDB (a document per artifact, `payload` and `expiresAt`), the rest in Redis. Expiry is left to
 * the stores, as there. `consume` marks, and cannot say who was first: the contract has no answer for it.
 */
const ephemeral = new Set(['Session', 'Interaction', 'ReplayDetection', 'PushedAuthorizationRequest'])

const indexes = [
  { key: { 'payload.grantId': 1 } },
  { key: { 'payload.uid': 1 } },
  { key: { 'payload.userCode': 1 } },
  { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
]

const epoch = () => Math.floor(Date.now() / 1000)

/** Durable as Signet asks for it. */
const durability = { writeConcern: { w: 'majority', journal: true }, readConcern: { level: 'local' } }

export const openAdapter = async ({ mongodb, database, redis, prefix }) => {
  const client = await MongoClient.connect(mongodb, { maxPoolSize: 50, maxConnecting: 8, ...durability })
  const db = client.db(`${database}_peer`)
  const cache = new Redis(redis, { keyPrefix: `${prefix}peer:`, protocol: 2 })
  for (const name of ['AuthorizationCode', 'AccessToken', 'RefreshToken', 'DeviceCode', 'Grant'])
    await db.collection(name).createIndexes(indexes)

  class MongoAdapter {
    constructor(name) {
      this.collection = db.collection(name)
    }

    async upsert(_id, payload, expiresIn) {
      const expiresAt = expiresIn ? { expiresAt: new Date(Date.now() + expiresIn * 1000) } : {}
      await this.collection.updateOne({ _id }, { $set: { payload, ...expiresAt } }, { upsert: true })
    }

    async first(filter) {
      const found = await this.collection.findOne(filter, { projection: { payload: 1 } })
      return found?.payload
    }

    find(_id) {
      return this.first({ _id })
    }

    findByUserCode(userCode) {
      return this.first({ 'payload.userCode': userCode })
    }

    findByUid(uid) {
      return this.first({ 'payload.uid': uid })
    }

    async destroy(_id) {
      await this.collection.deleteOne({ _id })
    }

    async revokeByGrantId(grantId) {
      await this.collection.deleteMany({ 'payload.grantId': grantId })
    }

    async consume(_id) {
      await this.collection.findOneAndUpdate({ _id }, { $set: { 'payload.consumed': epoch() } })
    }
  }

  class RedisAdapter {
    constructor(name) {
      this.name = name
    }

    key(id) {
      return `${this.name}:${id}`
    }

    async upsert(id, payload, expiresIn) {
      const work = cache.multi().set(this.key(id), JSON.stringify(payload), 'EX', Math.max(1, expiresIn ?? 86_400))
      if (payload.uid) work.set(`uid:${payload.uid}`, id, 'EX', Math.max(1, expiresIn ?? 86_400))
      await work.exec()
    }

    async find(id) {
      const found = await cache.get(this.key(id))
      return found === null ? undefined : JSON.parse(found)
    }

    async findByUid(uid) {
      const id = await cache.get(`uid:${uid}`)
      return id === null ? undefined : this.find(id)
    }

    async destroy(id) {
      await cache.del(this.key(id))
    }

    async consume(id) {
      const found = await this.find(id)
      if (found) await cache.set(this.key(id), JSON.stringify({ ...found, consumed: epoch() }), 'KEEPTTL')
    }

    async revokeByGrantId() {
      // None of the four belongs to a grant.
    }
  }

  return (name) => (ephemeral.has(name) ? new RedisAdapter(name) : new MongoAdapter(name))
}
