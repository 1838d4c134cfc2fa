import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedis, type RedisSettings } from '../../stores/redis/open-redis.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { startRedis, type RedisServer } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'

// What an operator learns about a Redis that cannot be used, and about one that can.

const password = 'pa55-w0rd-of-redis'

const reportOf = async (settings: Partial<RedisSettings> & { readonly uri: string }): Promise<string> => {
  await using backend = await openRedis({ key_prefix: 'start:', clock: Date.now, ...settings })
  try {
    await backend.ping(new AbortController().signal)
    return (await backend.describe?.()) ?? ''
  } catch (error) {
    expect(String(error)).not.toContain(password)
    expect(JSON.stringify(error)).not.toContain(password)
    return (error as Error).message
  }
}

describeWith(['redis', 'openssl'], 'reports about Redis', () => {
  const keep = disposeAfterAll()
  let directory: string
  let plain: RedisServer
  let guarded: RedisServer
  let tlsPort: number
  let ca: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signet-redis-tls-'))
    const [key, cert] = [join(directory, 'key.pem'), join(directory, 'cert.pem')]
    const name = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1']
    const made = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '1',
      ...name,
    ]
    execFileSync('openssl', [...made, '-keyout', key, '-out', cert], { stdio: 'ignore' })
    ca = await readFile(cert, 'utf8')
    tlsPort = await freePort()
    plain = keep(await startRedis())
    guarded = keep(await startRedis({ args: ['--requirepass', password] }))
    const secured = ['--tls-cert-file', cert, '--tls-key-file', key, '--tls-auth-clients', 'no']
    keep(await startRedis({ args: ['--tls-port', String(tlsPort), ...secured] }))
  })
  afterAll(() => rm(directory, { recursive: true }))

  const at = (port: number, more = '') => `redis://${more}127.0.0.1:${String(port)}`

  it('reports a usable server, with its version, role and policy', async () => {
    expect(await reportOf({ uri: at(plain.port) })).toMatch(/^Redis \d+\.\d+\.\d+, primary, noeviction$/)
    expect(await reportOf({ uri: at(guarded.port, `:${password}@`) })).toMatch(/^Redis /)
    expect(await reportOf({ uri: `rediss://127.0.0.1:${String(tlsPort)}`, ca })).toMatch(/^Redis /)
  })

  it('a database of its own', async () => {
    expect(await reportOf({ uri: `${at(plain.port)}/3` })).toMatch(/^Redis /)
    expect(await reportOf({ uri: `${at(plain.port)}/99` })).toMatch(/has no database with that number/)
  })

  it('reports that no server answers or the host is unknown', async () => {
    expect(await reportOf({ uri: at(await freePort()) })).toMatch(/nothing listens there/)
    expect(await reportOf({ uri: 'redis://no-such-host.invalid' })).toMatch(/no such host|cannot be looked up/)
  })

  it('a password that is wrong, or missing', async () => {
    expect(await reportOf({ uri: at(guarded.port, `:not-${password}@`) })).toMatch(
      /refuses the user name or the password/,
    )
    expect(await reportOf({ uri: at(guarded.port, `nobody:${password}@`) })).toMatch(
      /refuses the user name or the password/,
    )
    expect(await reportOf({ uri: at(guarded.port) })).toMatch(/requires a password/)
  })

  it('TLS on one side, or of an unknown authority, or for another host', async () => {
    expect(await reportOf({ uri: `rediss://127.0.0.1:${String(plain.port)}` })).toMatch(
      /does not speak TLS|none in TLS/,
    )
    expect(await reportOf({ uri: at(tlsPort) })).toMatch(/write rediss:\/\//)
    expect(await reportOf({ uri: `rediss://127.0.0.1:${String(tlsPort)}` })).toMatch(/from an unknown authority/)
    expect(await reportOf({ uri: `rediss://localhost:${String(tlsPort)}`, ca })).toMatch(/for another host/)
  })

  it('a server of another kind', async () => {
    expect(await reportOf({ uri: at(plain.port), cluster: { nodes: [] } })).toMatch(/is not a cluster/)
    await using clustered = await startRedis({ args: ['--cluster-enabled', 'yes'] })
    expect(await reportOf({ uri: at(clustered.port) })).toMatch(/is a node of a cluster/)
    await using replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(plain.port)] })
    expect(await reportOf({ uri: at(replica.port) })).toMatch(/is a replica/)
    const sentinel = { name: 'signet', nodes: [] }
    expect(await reportOf({ uri: at(plain.port), sentinel })).toMatch(/no sentinel knows the primary/)
  })

  describe('a policy that forgets', () => {
    it('is named, and the server is not used', async () => {
      await using lossy = await startRedis({ args: ['--maxmemory-policy', 'allkeys-lfu'] })
      expect(await reportOf({ uri: at(lossy.port) })).toMatch(/has maxmemory-policy allkeys-lfu/)
      await using backend = await openRedis({ uri: at(lossy.port), key_prefix: 'a:', clock: Date.now })
      await expect(backend.replayGuard('p').claim('n', 'i', 60, Infinity)).rejects.toThrow(/maxmemory-policy/)
      expect(await lossy.command('DBSIZE')).toBe(0)
    })
  })
})
