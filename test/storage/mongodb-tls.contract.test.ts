import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import { testCertificate } from '../support/server/certificate.js'
import { startMongo, type TestMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'

// TLS as the connection string asks for it, before a server that does not speak it itself.

describeWith('mongodb', 'MongoDB behind TLS', () => {
  let mongo: TestMongo
  let tls: Server
  let folder: string
  const sockets = new Set<Socket>()
  beforeAll(async () => {
    mongo = await startMongo()
    folder = await mkdtemp(join(tmpdir(), 'signet-tls-'))
    await writeFile(join(folder, 'ca.pem'), testCertificate.cert)
    tls = createServer(testCertificate, (client) => {
      const server = connect(mongo.port, mongo.host)
      for (const socket of [client, server]) {
        sockets.add(socket)
        socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      }
      client.pipe(server).pipe(client)
    })
    tls.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
    await once(tls, 'listening')
  })
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    tls.close()
    await rm(folder, { recursive: true })
    await mongo[Symbol.asyncDispose]()
  })

  const uri = (options: string) => mongo.uri((tls.address() as AddressInfo).port).replace('?', `?${options}`)

  /** Undefined: it answers. */
  const failureOf = async (options: string): Promise<string | undefined> => {
    await using backend = await openMongodb({ uri: uri(options), database: mongo.database, clock: Date.now })
    return await backend.ping(new AbortController().signal).then(
      () => undefined,
      (error: unknown) => (error as Error).message,
    )
  }

  // A server from MONGODB_URI has its own TLS, or none.
  const onStandIn = it.skipIf(process.env['MONGODB_URI'] !== undefined)

  onStandIn('answers clients that know the authority', async () => {
    await using backend = await openMongodb({
      uri: uri(`tls=true&tlsCAFile=${encodeURIComponent(join(folder, 'ca.pem'))}&`),
      database: mongo.database,
      clock: Date.now,
    })
    await backend.oneTime('tls_codes').put('code', { a: 1 }, 60)
    expect(await backend.oneTime('tls_codes').redeem('code')).toEqual({ outcome: 'won', record: { a: 1 } })
  })

  onStandIn('is refused, in words, by clients that do not, and where one of both speaks no TLS', async () => {
    expect(await failureOf('tls=true&')).toBe('TLS: self-signed certificate')
    expect(await failureOf('')).toMatch(/does it want TLS\?$/)
  })
})
