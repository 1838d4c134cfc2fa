import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Log } from '../../core/observe/log.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { writeDocumented } from '../support/document.js'
import { startCibaServer, type CibaServer } from '../support/server/ciba-server.js'
import { subject } from '../support/server/server.js'
import { jsonAnswer, noAnswers, openSite, type Site } from '../support/server/site.js'

const keep = disposeAfterAll()
const said: string[] = []
const log: Log = {
  ...{ debug() {}, info() {} },
  warn: (message) => void said.push(message),
  error: (message, fields, cause) =>
    void said.push(`${message}: ${JSON.stringify(fields)} ${cause === undefined ? '' : 'bug'}`),
}

let folder: string
let pusher: Site
let server: CibaServer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-notifier-'))
  writeDocumented(folder, 'docs/ciba.md', ['wake.js'])
  pusher = keep(await openSite(jsonAnswer({})))
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
  const wake = { use: join(folder, 'wake.js'), options: { url: `${pusher.url}/wake`, secret } }
  server = await startCibaServer({ log }, (written) => ({
    ...written,
    plugins: [...(written['plugins'] as object[]), wake],
  }))
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

it('the documented notifier learns whose approval is awaited, and nothing else', async () => {
  await server.start({ binding_message: 'Order W4SCT', requested_expiry: '120' })
  await expect.poll(() => pusher.asked).toHaveLength(1)
  const [{ path, headers, body } = {}] = pusher.asked
  expect(path).toBe('/wake')
  expect(headers?.['webhook-signature']).toMatch(/^v1,/)
  expect(JSON.parse(String(body))).toEqual({ subject, expires_in: 120 })
})

it('refused requests wake no device, and accepted ones wait even if no device can be woken', async () => {
  pusher.asked.length = 0
  await server.ask({ login_hint: 'nobody' })
  await server.ask({ login_hint: 'alice', scope: 'openid write' })
  pusher.answer = noAnswers['answers 500']!
  await server.start()
  const failures = () => said.filter((line) => line.startsWith('A device was not notified'))
  await expect.poll(failures).toEqual([expect.stringMatching(/"name":"wake".*500/)])
  expect(pusher.asked).toHaveLength(1)
  expect(await (await server.newPhone()).list()).toHaveLength(2)
})
