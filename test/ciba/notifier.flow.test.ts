import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import type { Log } from '../../core/observe/log.js'
import { createNotifyDevices, type ApprovalNotifier } from '../../core/oauth/ciba/notifier.js'
import { Unavailable } from '../../core/unavailable.js'
import { findContributionFault } from '../../core/modules/contribution-kinds.js'
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

it('the documented notifier hears that something waits for whom, and nothing else', async () => {
  await server.start({ binding_message: 'Order W4SCT', requested_expiry: '120' })
  await expect.poll(() => pusher.asked).toHaveLength(1)
  const [{ path, headers, body } = {}] = pusher.asked
  expect(path).toBe('/wake')
  expect(headers?.['webhook-signature']).toMatch(/^v1,/)
  expect(JSON.parse(String(body))).toEqual({ subject, expires_in: 120 })
})

it('nobody is woken for what was refused, and what was asked waits though nobody can be woken', async () => {
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

it('a notifier that hangs is given up, and holds a bounded number', async () => {
  said.length = 0
  vi.useFakeTimers()
  try {
    const signals: AbortSignal[] = []
    const hangs: ApprovalNotifier = {
      name: 'hangs',
      notify: ({ signal }) => new Promise(() => void signals.push(signal)),
    }
    const notify = createNotifyDevices({
      log,
      notifiers: [
        hangs,
        {
          name: 'throws',
          notify: () => {
            throw new Error('a bug')
          },
        },
        { name: 'is down', notify: () => Promise.reject(new Unavailable('push', 'no', 'it is down')) },
      ],
    })
    notify('alice', 300)
    await vi.advanceTimersByTimeAsync(2999)
    expect(said).toEqual([expect.stringMatching(/"throws".* bug$/), expect.stringMatching(/"is down".*it is down"} $/)])
    await vi.advanceTimersByTimeAsync(1)
    expect(said[2]).toMatch(/"hangs".*too long/)
    expect(signals[0]?.aborted).toBe(true)
    const flood = createNotifyDevices({ log, notifiers: [hangs] })
    for (let count = 0; count < 300; count++) flood('alice', 300)
    expect(signals).toHaveLength(1 + 256)
    await vi.advanceTimersByTimeAsync(3000)
    flood('alice', 300)
    expect(signals).toHaveLength(1 + 256 + 1)
  } finally {
    vi.useRealTimers()
  }
})

it('one without a name is refused', () => {
  expect(findContributionFault({ approvalNotifiers: [{ notify: () => undefined }] })).toMatch(/without name or notify/)
  expect(findContributionFault({ approvalNotifiers: [{ name: 'push' }] })).toMatch(/without name or notify/)
})
