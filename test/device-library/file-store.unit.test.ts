import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDevice, type DeviceRecord } from '../../libraries/device/index.js'
import { fileKey, fileStore } from '../../libraries/device/node/index.js'
import { packageRoot } from '../../core/package-root.js'

let folder: string
let path: string
let names = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-device-'))
})
beforeEach(() => {
  path = join(folder, `device-${String(names++)}`)
})
afterAll(() => rm(folder, { recursive: true }))

const record: DeviceRecord = { attestation: 'a.b.c', keptAt: 1, goodUntil: 3, renewAt: 2 }
const beside = async () => (await readdir(folder)).filter((name) => join(folder, name).startsWith(path))

describe('fileStore', () => {
  it('keeps a record in a private file, and leaves no other file', async () => {
    const store = fileStore(path)
    expect(await store.read()).toBeUndefined()
    await store.exclusive(() => store.write(record))
    // A write that was interrupted left its half.
    await writeFile(`${path}.new`, '{"attestation": "', { mode: 0o644 })
    await store.exclusive(() => store.write({ ...record, renewAt: 2.5 }))
    expect(await store.read()).toEqual({ ...record, renewAt: 2.5 })
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await beside()).toHaveLength(1)
    await store.remove()
    expect(await beside()).toEqual([])
  })

  it.each(['', '{"attestation": "a.b', '[]', 'null', '{}', JSON.stringify(record), '{"attestation":"e30.e30.AA"}'])(
    'a device reports an incomplete record: %s',
    async (text) => {
      await writeFile(path, text)
      const device = createDevice({
        issuer: 'http://localhost',
        store: fileStore(path),
        key: await fileKey(`${path}.pem`),
      })
      await expect(device.attestation()).rejects.toMatchObject({ errorCode: 'StoreCorrupted', mustEnrol: true })
      await device.forget()
      await expect(device.attestation()).rejects.toMatchObject({ errorCode: 'NotEnrolled' })
    },
  )

  it('a device reports a missing directory before it uses up its factor', async () => {
    const asked: unknown[] = []
    const device = createDevice({
      issuer: 'http://localhost',
      store: fileStore(join(path, 'device')),
      key: await fileKey(`${path}.pem`),
      fetch: async (url) => {
        asked.push(url)
        throw new Error('not asked')
      },
    })
    const enrolment = { subject: 'a', principalId: 'b', principalType: 'service' } as const
    await expect(device.enrol({ ...enrolment, secondFactor: { kind: 'word', value: 'right' } })).rejects.toMatchObject({
      errorCode: 'StoreFailed',
      mustEnrol: false,
    })
    expect(asked).toEqual([])
  })

  it('does not store the key pair that a device would create', () => {
    expect(() => createDevice({ issuer: 'http://localhost', store: fileStore(path) })).toThrow(TypeError)
  })
})

describe('the lock of fileStore', () => {
  const lock = () => `${path}.lock`
  const other = { token: 'other', host: hostname(), pid: process.pid }
  const enter = (): Promise<string> => fileStore(path).exclusive(async () => 'entered')
  /** Holds the lock until it is left. */
  const hold = () =>
    new Promise<{ leave(): void; readonly left: Promise<void> }>((resolve) => {
      const left: Promise<void> = fileStore(path).exclusive(
        () => new Promise<void>((leave) => setImmediate(() => resolve({ leave, left }))),
      )
    })
  /** Long enough for many attempts, none of which may succeed. */
  const attempts = () => new Promise((resolve) => setTimeout(resolve, 300, 'waits'))

  it('admits one holder at a time, also after one that failed', async () => {
    let inside = 0
    const work = async (): Promise<void> => {
      expect(++inside).toBe(1)
      await new Promise((resolve) => setImmediate(resolve))
      inside--
    }
    const stores = [fileStore(path), fileStore(path)]
    await Promise.all(Array.from({ length: 10 }, (_, turn) => stores[turn % 2]!.exclusive(work)))
    await expect(stores[0]!.exclusive(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
    expect(await enter()).toBe('entered')
    expect(await beside()).toEqual([])
  })

  it('waits for a process that is alive, but not for one that was killed', async () => {
    const holder = fork(join(packageRoot, 'test/device-library/lock-holder.js'), [path], { execArgv: [] })
    try {
      await once(holder, 'message')
      const entering = enter()
      expect(await Promise.race([entering, attempts()])).toBe('waits')
      holder.kill('SIGKILL')
      expect(await entering).toBe('entered')
    } finally {
      holder.kill('SIGKILL')
    }
  })

  it('is not held by a process that reuses the id of a dead one', async () => {
    await writeFile(lock(), JSON.stringify({ ...other, started: '1' }))
    expect(await enter()).toBe('entered')
  })

  it('of another host is respected for a minute, by either clock', async () => {
    for (const age of [90, -90]) {
      await writeFile(lock(), JSON.stringify({ ...other, host: 'elsewhere' }))
      const entering = enter()
      expect(await Promise.race([entering, attempts()])).toBe('waits')
      const then = Date.now() / 1000 - age
      await utimes(lock(), then, then)
      expect(await entering).toBe('entered')
    }
  })

  it('that cannot be read is respected for a minute, too', async () => {
    await writeFile(lock(), '{"tok')
    const entering = enter()
    expect(await Promise.race([entering, attempts()])).toBe('waits')
    await utimes(lock(), 1, 1)
    expect(await entering).toBe('entered')
    expect(await beside()).toEqual([])
  })

  it('stays with the new holder when the former one comes back', async () => {
    const { leave, left } = await hold()
    await utimes(lock(), 1, 1)
    await fileStore(path).exclusive(async () => {
      leave()
      await left
      expect(await readFile(lock(), 'utf8')).toContain('token')
    })
    expect(await beside()).toEqual([])
  })

  it('counts its age from when it was acquired, however long its holder waited', async () => {
    const { leave, left } = await hold()
    const second = fileStore(path).exclusive(async () => (await stat(lock())).mtimeMs)
    await expect.poll(() => beside()).toHaveLength(2)
    const [waiting = ''] = (await beside()).filter((name) => !name.endsWith('.lock'))
    await utimes(join(folder, waiting), 1, 1)
    leave()
    await left
    expect(Date.now() - (await second)).toBeLessThan(30_000)
  })

  it('is taken over even if the process that was about to do so died', async () => {
    await writeFile(lock(), JSON.stringify({ ...other, started: '1' }))
    await writeFile(`${lock()}.over-other`, '{}')
    const entering = enter()
    expect(await Promise.race([entering, attempts()])).toBe('waits')
    await utimes(`${lock()}.over-other`, 1, 1)
    expect(await entering).toBe('entered')
  })
})

describe('fileKey', () => {
  it('creates a key once, also for concurrent callers, and finds it again', async () => {
    const keys = await Promise.all(Array.from({ length: 40 }, () => fileKey(path)))
    expect(new Set(keys.map(({ publicJwk }) => publicJwk.x)).size).toBe(1)
    expect(Object.keys(keys[0]!.publicJwk)).toEqual(['kty', 'crv', 'x', 'y'])
    expect((await stat(path)).mode & 0o777).toBe(0o600)
    expect(await readFile(path, 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----/)
    expect(await beside()).toHaveLength(1)
    const { publicJwk, sign } = await fileKey(path)
    const input = Buffer.from('what is signed')
    const key = await crypto.subtle.importKey('jwk', publicJwk, { name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'verify',
    ])
    const signature = new Uint8Array(await sign(input))
    expect(await crypto.subtle.verify({ name: 'ECDSA', hash: 'SHA-256' }, key, signature, input)).toBe(true)
  })

  it('refuses a file that others can read', async () => {
    await fileKey(path)
    for (const mode of [0o640, 0o604]) {
      await chmod(path, mode)
      await expect(fileKey(path)).rejects.toMatchObject({ errorCode: 'KeyFailed', message: /chmod 600/ })
    }
  })

  it.each([
    ['nothing', '', /no private key in PEM/],
    ['another curve', 'secp384r1', /not of P-256/],
    ['half of a key', '-----BEGIN PRIVATE KEY-----\nMIGH', /no private key in PEM/],
  ])('refuses %s, and leaves it', async (_title, text, why) => {
    const { generateKeyPairSync } = await import('node:crypto')
    const content = text.startsWith('secp')
      ? generateKeyPairSync('ec', { namedCurve: text }).privateKey.export({ type: 'pkcs8', format: 'pem' })
      : text
    await writeFile(path, content, { mode: 0o600 })
    await expect(fileKey(path)).rejects.toMatchObject({ errorCode: 'KeyFailed', message: why })
    expect(await readFile(path, 'utf8')).toBe(content)
  })

  it('refuses a directory as the file, and a missing directory', async () => {
    await expect(fileKey(folder)).rejects.toMatchObject({ errorCode: 'KeyFailed' })
    await expect(fileKey(join(path, 'key.pem'))).rejects.toMatchObject({ errorCode: 'KeyFailed' })
  })
})
