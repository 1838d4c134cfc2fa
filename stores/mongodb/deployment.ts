import { MongoServerError, type Db } from 'mongodb'
import type { Gateway } from './gateway.js'

const commandNotFound = 59

/** Asks the server about itself. Servers before 4.4.2 only have the command's old name. */
const hello = async (db: Db) => {
  try {
    return await db.command({ hello: 1 })
  } catch (error) {
    if (error instanceof MongoServerError && error.code === commandNotFound) return db.command({ isMaster: 1 })
    throw error
  }
}

const kindOf = async ({ db, call }: Gateway): Promise<string> => {
  const { setName, msg } = await call('read', () => hello(db))
  if (msg === 'isdbgrid') return 'sharded'
  return typeof setName === 'string' ? `replica set ${setName}` : 'standalone'
}

/** Product, version and type of deployment. */
export const describeServer = async (gateway: Gateway): Promise<string> => {
  const { version } = await gateway.call('read', () => gateway.db.command({ buildInfo: 1 }))
  return `MongoDB ${String(version)}, ${await kindOf(gateway)}`
}

/** Without replicas, the requested durability means less than it says. */
export const findWarnings = async (gateway: Gateway): Promise<readonly string[]> => {
  if ((await kindOf(gateway)) !== 'standalone') return []
  return [
    'MongoDB is a standalone server: the majority that every write waits for is this one server, and what it loses is lost',
  ]
}
