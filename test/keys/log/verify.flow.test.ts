import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { decodeEntry, encodeEntry, type KeyLogEntry } from '../../../core/keys/log/entry.js'
import type { KeyLogHead, KeyLogRecord } from '../../../core/keys/log/head.js'
import { openCommandLine, type CommandLine } from '../../support/server/command-line.js'
import { key, startReloadServer, type ReloadServer } from '../../support/server/reloading.js'
import { openTestRecords } from '../../support/stores/test-stores.js'
import { fetchLog, withKeyLog } from './log-server.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const start = async (): Promise<ReloadServer> => {
  const server = await startReloadServer({ configure: withKeyLog })
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

let states = 0
/** Looks at a server as a watcher does that remembers what it saw. */
const watcherOf = ({ issuer }: { readonly issuer: string }) => {
  const state = `state-${String(states++)}.json`
  return {
    state,
    look: async (...more: readonly string[]) => {
      const { code, stdout, stderr } = await cli.run([
        'keys',
        'log',
        'verify',
        issuer,
        '--state',
        state,
        '--json',
        ...more,
      ])
      if (stdout === '') return { code, stderr, kinds: [], size: 0 }
      const look = JSON.parse(stdout) as { findings: { kind: string; kid?: string }[]; size: number }
      return {
        code,
        stderr,
        size: look.size,
        kinds: look.findings.map(({ kind, kid }) => (kid === undefined ? kind : `${kind} ${kid}`)),
      }
    },
  }
}

/** Changes the head in the store by hand. */
const changeHead = async (
  { directory }: ReloadServer,
  change: (head: KeyLogHead) => KeyLogHead,
): Promise<KeyLogHead> => {
  await using records = await openTestRecords(`${directory}/store`, Date.now)
  const store = records.records<KeyLogRecord>('key_log')
  const before = (await store.find('head')) as KeyLogHead
  await store.put('head', change(before))
  return before
}

const addKey = async (server: ReloadServer, kid: string): Promise<void> => {
  await server.edit((written) => ({
    ...written,
    keys: [...(written['keys'] as object[]), key(kid, { allow_early: true })],
  }))
  expect(await server.reload()).toMatchObject({ status: 200 })
}

describe('signet keys log', () => {
  it('prints the key, and verifies the log with it from a machine without a configuration', async () => {
    const server = await start()
    const printed = await cli.run(['keys', 'log', 'key', '--config', join(server.directory, 'signet.yaml')])
    expect(printed).toMatchObject({ code: 0, stderr: '' })
    const vkey = printed.stdout.trim()
    expect(vkey).toMatch(/^127\.0\.0\.1:\d+\/keys\/log\+[0-9a-f]{8}\+/)
    const first = await cli.run(['keys', 'log', 'verify', `${server.issuer}/`, '--state', 'first.json'])
    expect(first).toMatchObject({ code: 0, stderr: '' })
    expect(first.stdout).toBe(
      `First look: nothing to compare it with. The key of the log is ${vkey}\n4 entries, and every key of the issuer is among them.\n`,
    )
    expect(JSON.parse(await readFile(join(cli.folder, 'first.json'), 'utf8'))).toEqual({
      key: vkey,
      checkpoint: (await fetchLog(server.origin)).note,
    })
    await addKey(server, 'second')
    await expect
      .poll(async () => (await cli.run(['keys', 'log', 'verify', server.issuer, '--state', 'first.json'])).stdout)
      .toBe('6 entries, and every key of the issuer is among them.\n')
    expect(await cli.run(['keys', 'log', 'verify', server.issuer, '--key', vkey])).toMatchObject({ code: 0 })
    const list = await cli.run(['keys', 'log', 'key', '--json', '--config', join(server.directory, 'signet.yaml')])
    expect(JSON.parse(list.stdout)).toEqual([{ kid: 'audit', state: 'active', key: vkey }])
  })

  it('KR22: does not accept the signature of another key than the given one', async () => {
    const [server, other] = [await start(), await start()]
    const { stdout } = await cli.run(['keys', 'log', 'key', '--config', join(other.directory, 'signet.yaml')])
    const look = await cli.run(['keys', 'log', 'verify', server.issuer, '--key', stdout.trim()])
    expect(look).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^bad signature: The checkpoint is not/) as string,
    })
  })

  it('refuses what it cannot work with', async () => {
    await cli.write('broken.json', '{"key":7}')
    for (const args of [
      ['not-a-url'],
      ['http://id.bank.example'],
      ['https://user:pass@id.bank.example'],
      ['https://id.bank.example?x'],
      ['https://id.bank.example', '--key', 'sum.golang.org+00000000+AAAA'],
      [],
    ])
      expect(await cli.run(['keys', 'log', 'verify', ...args])).toMatchObject({ code: 2, stdout: '' })
    const broken = await cli.run(['keys', 'log', 'verify', 'http://127.0.0.1:1', '--state', 'broken.json'])
    expect(broken).toMatchObject({ code: 1, stdout: '' })
    expect(broken.stderr).toContain('this is not what an earlier')
    const away = await cli.run(['keys', 'log', 'verify', 'http://127.0.0.1:1'])
    expect(away).toMatchObject({ code: 1, stdout: '' })
    const none = await startReloadServer()
    onTestFinished(() => none[Symbol.asyncDispose]())
    expect(await cli.run(['keys', 'log', 'verify', none.issuer])).toMatchObject({ code: 1, stdout: '' })
    const file = join(none.directory, 'signet.yaml')
    expect((await cli.run(['keys', 'log', 'key', '--config', file])).stderr).toContain(
      'No key for EdDSA with the purpose audit',
    )
  })
})

describe('KR19: a log that was changed in the store', () => {
  const changed = (text: string | undefined, more: Partial<KeyLogEntry>): string =>
    encodeEntry({ ...(decodeEntry(text ?? '') as KeyLogEntry), ...more })

  it('KR19: is found when an entry was changed, also after the next signature', async () => {
    const server = await start()
    const { look } = watcherOf(server)
    expect(await look()).toMatchObject({ code: 0, size: 4 })
    await changeHead(server, (head) => ({
      ...head,
      entries: head.entries.map((text, place) =>
        place === 1 ? changed(text, { time: '2020-01-01T00:00:00Z' }) : text,
      ),
    }))
    await expect.poll(look, { timeout: 10_000 }).toMatchObject({ code: 1, kinds: ['mismatch'] })
  })

  it('KR19: is found when the store went back to an older backup, and the log grew again', async () => {
    const server = await start()
    const backup = await changeHead(server, (head) => head)
    await addKey(server, 'second')
    const { look } = watcherOf(server)
    await expect.poll(look, { timeout: 10_000 }).toMatchObject({ code: 0, size: 6 })
    await changeHead(server, () => backup)
    await expect.poll(look, { timeout: 10_000 }).toMatchObject({ code: 1, kinds: ['shrunk'] })
    await addKey(server, 'third')
    await addKey(server, 'fourth')
    await expect.poll(look, { timeout: 10_000 }).toMatchObject({ code: 1, kinds: ['rewritten'] })
  }, 40_000)
})

describe('KR21: a key that was published outside the log', () => {
  it('KR21: is found', async () => {
    const server = await startReloadServer({
      configure: (written) => withKeyLog({ ...written, listen: { host: '127.0.0.1', port: 0 } }),
    })
    onTestFinished(() => server[Symbol.asyncDispose]())
    const added: object[] = []
    // What answers in the name of the issuer, such as a proxy before it.
    const proxy = createServer((request, response) => {
      void (async () => {
        const reply = await fetch(server.origin + (request.url ?? ''))
        const body = Buffer.from(await reply.arrayBuffer())
        if (request.url !== '/jwks.json' || added.length === 0) return response.writeHead(reply.status).end(body)
        const { keys } = JSON.parse(body.toString()) as { keys: object[] }
        return response.end(JSON.stringify({ keys: [...keys, ...added] }))
      })()
    }).listen(Number(new URL(server.issuer).port), '127.0.0.1')
    await once(proxy, 'listening')
    onTestFinished(() => void proxy.close())
    const { look } = watcherOf(server)
    expect(await look()).toMatchObject({ code: 0, kinds: [] })
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    added.push({ ...publicKey.export({ format: 'jwk' }), kid: 'secret', alg: 'ES256', use: 'sig' })
    expect(await look()).toMatchObject({ code: 1, kinds: ['outside secret'] })
    const said = await cli.run(['keys', 'log', 'verify', server.issuer])
    expect(said.stdout).toContain(
      'outside: "secret": The key is in /jwks.json, and the log does not have it as published.',
    )
  }, 30_000)
})
