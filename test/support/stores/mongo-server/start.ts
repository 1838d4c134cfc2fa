import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { MongoClient } from 'mongodb'
import { mongoStandIn } from '../../services/java-programs.js'

/** A MongoDB, with a database that is this test's alone. */
export interface TestMongo extends AsyncDisposable {
  readonly host: string
  readonly port: number
  readonly database: string
  /** The same server through another port of loopback, such as that of a proxy. */
  uri(port?: number): string
}

/** The stand-in has no sessions, and so no retryable writes. */
const standInOptions = 'retryWrites=false&directConnection=true'

/** The server that `MONGODB_URI` names: the test gets a database of its own there, which it drops. */
const openReal = (real: string): TestMongo => {
  const database = `signet_test_${randomBytes(6).toString('hex')}`
  const [, credentials = '', hosts = '', rest = ''] = /^mongodb:\/\/([^/]*@)?([^/?]*)(.*)$/.exec(real) ?? []
  const [host = '127.0.0.1', port = '27017'] = hosts.split(',')[0]?.split(':') ?? []
  const [path = '/', query = ''] = rest.split('?')
  return {
    host,
    port: Number(port),
    database,
    uri: (through) => {
      if (through === undefined) return real
      const options = new URLSearchParams(query)
      options.delete('replicaSet')
      options.set('directConnection', 'true')
      return `mongodb://${credentials}127.0.0.1:${String(through)}${path}?${options.toString()}`
    },
    [Symbol.asyncDispose]: async () => {
      const client = await MongoClient.connect(real)
      await client.db(database).dropDatabase()
      await client.close()
    },
  }
}

/** The first answers of a new process may take longer on a busy machine than the service waits. */
const warmUp = async (uri: string): Promise<void> => {
  const client = await MongoClient.connect(uri)
  const database = client.db('warm')
  await database.collection('warm').insertOne({ at: new Date() })
  await database.collection('warm').listIndexes().toArray()
  await database.dropDatabase()
  await client.close()
}

/** A new stand-in on `port`, or on one of its own, with so many MiB; or the real server of `MONGODB_URI`. */
export const startMongo = async (port = 0, heapMb = 512): Promise<TestMongo> => {
  const real = process.env['MONGODB_URI']
  if (real !== undefined) return openReal(real)
  const flags = [`-Xmx${String(heapMb)}m`, '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Xshare:auto']
  const server = spawn('java', [...flags, '-cp', mongoStandIn.classPath, 'MongoStandIn', String(port)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(server.stdout)
  const exited = once(server, 'exit')
  const [first] = (await Promise.race([
    once(lines, 'line'),
    exited.then(([code]) => Promise.reject(new Error(`the stand-in for MongoDB ended: ${String(code)}`))),
  ])) as [string]
  const own = Number(first)
  const uri = (through = own): string => `mongodb://127.0.0.1:${String(through)}/?${standInOptions}`
  await warmUp(uri())
  return {
    host: '127.0.0.1',
    port: own,
    database: 'signet',
    uri,
    [Symbol.asyncDispose]: async () => {
      server.kill('SIGKILL')
      await exited
    },
  }
}
