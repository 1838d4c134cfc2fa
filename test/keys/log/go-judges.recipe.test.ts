import { spawn } from 'node:child_process'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { originOf } from '../../../core/keys/log/checkpoint.js'
import { encodeEntry } from '../../../core/keys/log/entry.js'
import type { KeyLogRecord } from '../../../core/keys/log/head.js'
import { createKeyLog } from '../../../core/keys/log/key-log.js'
import { formatNoteKey, noteKey } from '../../../core/keys/log/note.js'
import { describeWith } from '../../support/services/describe-with.js'
import { recipes } from '../../support/services/recipes.js'
import { prepareDeployment } from '../../support/server/server.js'
import { openTestRecords } from '../../support/stores/test-stores.js'
import { entryOf, never, signaturesOf } from './log-double.js'
import { fetchLog, withKeyLog } from './log-server.js'

const judge = async (folder: string, args: readonly string[]) => {
  const child = spawn(join(recipes['key-log'].folder, 'judge'), args, { cwd: folder })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}

describeWith('key-log recipe', 'the key log, by the readers of others', () => {
  it('is read, and proved entry by entry and size by size, by the Go checksum database and transparency-dev', async () => {
    await using deployment = await prepareDeployment({ configure: withKeyLog })
    const server = await deployment.start()
    onTestFinished(() => server[Symbol.asyncDispose]())
    await using records = await openTestRecords(`${server.directory}/store`, Date.now)
    const store = records.records<KeyLogRecord>('key_log')
    // A small log, such as the first replica has for a moment.
    await store.remove('head')
    const privateKey = createPrivateKey(await readFile(join(server.directory, 'keys/audit.pem')))
    const publicKey = createPublicKey(privateKey)
    const vkey = formatNoteKey(noteKey(originOf(server.issuer), publicKey))
    const { issuer } = server
    const log = createKeyLog({ store, issuer, signatures: signaturesOf({ privateKey, publicKey }) })
    const earlier: string[] = []
    for (const size of [1, 2, 255, 256, 257, 512, 3000]) {
      await log.append(([last]) => {
        const from = Number(last?.thumbprint ?? 0)
        return Array.from({ length: Math.min(size - from, 300) }, (_, place) =>
          entryOf(0, { thumbprint: String(from + place + 1) }),
        )
      })
      await log.sign(await log.read(), never)
      await expect.poll(async () => (await fetchLog(server.origin)).checkpoint.size, { timeout: 10_000 }).toBe(size)
      const judged = await judge(server.directory, [`${server.origin}/keys/log`, vkey, ...earlier])
      expect(judged).toMatchObject({ code: 0, stderr: '' })
      expect(JSON.parse(judged.stdout)).toEqual({ origin: originOf(issuer), size, compared: earlier.length })
      const file = `checkpoint-${String(size)}`
      await writeFile(join(server.directory, file), (await fetchLog(server.origin)).note)
      earlier.push(file)
    }
    // The judges find what was changed.
    const bundle = (await store.find('tile/entries/000')) as Extract<KeyLogRecord, { readonly kind: 'entries' }>
    await store.put('tile/entries/000', {
      ...bundle,
      entries: bundle.entries.map((entry, place) => (place === 7 ? encodeEntry(entryOf(7, { kid: 'x' })) : entry)),
    })
    // The first service has the bundle in memory.
    await server[Symbol.asyncDispose]()
    await using other = await deployment.start()
    expect(await judge(server.directory, [`${other.origin}/keys/log`, vkey])).toMatchObject({ code: 1 })
  }, 300_000)
})
