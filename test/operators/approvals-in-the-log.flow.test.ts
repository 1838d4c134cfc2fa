import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadWithStores } from '../../core/checks/check-configuration.js'
import { collections } from '../../core/collections/collections.js'
import { openStores } from '../../core/collections/stores.js'
import { verifyApprovals } from '../../core/operate/verify-approvals.js'
import { packageRoot } from '../../core/package-root.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { freePort } from '../support/free-port.js'
import { openCommandLine } from '../support/server/command-line.js'
import { fieldOf, OperatorBrowser, optionsOf } from '../support/server/operator-browser.js'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'
import { recipes } from '../support/services/recipes.js'

type Json = Record<string, unknown>

let server: OperatorServer
let log: readonly Json[]
let file: string

beforeAll(async () => {
  const port = await freePort()
  const origin = `http://localhost:${String(port)}`
  const keys = ['ada', 'bob'].map((name) => [name, new SoftwareAuthenticator(origin)] as const)
  server = await startOperatorServer({
    configure: (written) => ({
      ...written,
      admin: { host: '127.0.0.1', port },
      dual_control: { clients: 1, operators: 1 },
      break_glass_secret: 'a-secret-in-a-sealed-envelope',
      operators: {
        people: keys.map(([name, { id, publicKey }]) => ({
          ...{ name, roles: ['operator'], passkeys: [{ id, public_key: publicKey }] },
        })),
      },
    }),
  })
  file = join(server.directory, 'audit.jsonl')
  const config = join(server.directory, 'signet.yaml')
  await using commands = await openCommandLine()
  const [ada, bob] = keys.map(([, key]) => ({ key, browser: new OperatorBrowser(server.admin) }))
  for (const { key, browser } of [ada!, bob!]) await browser.signIn(key)
  const approve = async ({ key, browser }: typeof ada & object, id: string) => {
    const { html } = await browser.open(`/console/approvals/${id}`)
    const answer = key.signIn(optionsOf(html))
    const reply = await browser.post(`/console/approvals/${id}`, { csrf: fieldOf(html, 'csrf'), answer })
    expect(reply.location).toContain('approval_done')
  }
  const waits = async (...args: readonly string[]): Promise<string> => {
    const { stderr } = await commands.run([...args, '--config', config])
    return /approval of other operators: ([\da-f-]{36})/.exec(stderr)![1]!
  }
  await approve(ada!, await waits('clients', 'add', '--client-id', 'shop', '--grant-type', 'client_credentials'))
  // Ada adds a passkey, which Bob approves and Ada then approves with.
  const second = new SoftwareAuthenticator(origin)
  const added = await ada!.browser.addPasskey(second)
  expect(added.status).toBe(202)
  await approve(bob!, /approvals\/([\da-f-]{36})/.exec(added.html)![1]!)
  await approve({ ...ada!, key: second }, await waits('clients', 'disable', 'shop'))
  const broken = await waits('clients', 'enable', 'shop')
  await commands.run(['approve', broken, '--break-glass', 'bob is ill', '--config', config], {
    input: 'a-secret-in-a-sealed-envelope\n',
  })
  log = await server.audit()
})
afterAll(() => server[Symbol.asyncDispose]())

it('a passkey that was written into the store approves nothing (AD45)', async () => {
  const config = await loadWithStores(join(server.directory, 'signet.yaml'), {})
  await using stores = await openStores(config, Date.now)
  const { operators } = collections(stores)
  const { origin } = new OperatorBrowser(server.admin)
  const planted = new SoftwareAuthenticator(origin)
  const record = (await operators.find('ada'))!
  const [approved] = record.credentials
  const passkey = { kind: 'passkey' as const, credentialId: planted.id, publicKey: planted.publicKey }
  await using commands = await openCommandLine()
  const args = ['clients', 'add', '--client-id', 'evil', '--grant-type', 'client_credentials']
  const { stderr } = await commands.run([...args, '--config', join(server.directory, 'signet.yaml')])
  const id = /approval of other operators: ([\da-f-]{36})/.exec(stderr)![1]!
  // With nothing, and with what others have signed about another passkey.
  for (const more of [{}, approved?.kind === 'passkey' ? { approved: approved.approved! } : {}]) {
    await operators.put('ada', { ...record, credentials: [{ ...passkey, ...more }] })
    const browser = new OperatorBrowser(server.admin)
    expect((await browser.signIn(planted)).status).toBe(303)
    const { html } = await browser.open(`/console/approvals/${id}`)
    const answer = planted.signIn({ challenge: optionsOf(html)['challenge'], rpId: 'localhost' })
    const sent = await browser.post(`/console/approvals/${id}`, { csrf: fieldOf(html, 'csrf'), answer })
    expect(sent).toMatchObject({ status: 403, html: expect.stringContaining('Nobody has approved') })
  }
  await operators.put('ada', record)
})

const verify = (events: readonly Json[]) =>
  verifyApprovals([
    (async function* () {
      for (const event of events) yield await Promise.resolve(JSON.stringify(event))
    })(),
  ])

const expected = [
  { action: 'client.add', object: 'client:shop', requestedBy: 'local', approvedBy: ['ada'] },
  { action: 'operator.add_credential', object: 'operator:ada', requestedBy: 'ada', approvedBy: ['bob'] },
  { action: 'client.disable', object: 'client:shop', requestedBy: 'local', approvedBy: ['ada'] },
  { action: 'client.enable', object: 'client:shop', approvedBy: [], brokenGlass: 'bob is ill' },
]

describe('approvals in the audit log', () => {
  it('are verified from the log alone, by the command', async () => {
    await using commands = await openCommandLine()
    const { stdout, code } = await commands.run(['audit', 'verify', file, '--approvals', '--json'])
    const { approvals, faults } = JSON.parse(stdout) as { approvals: unknown; faults: unknown }
    expect({ approvals, faults, code }).toMatchObject({
      approvals: { actions: expected, faults: [] },
      faults: [],
      code: 0,
    })
  })

  it.skipIf(recipes.flask.isMissing)('are verified by a script in Python with nothing but the log', async () => {
    const python = join(recipes.flask.folder, '.venv/bin/python')
    const script = join(packageRoot, 'test/operators/verify-approval.py')
    const run = promisify(execFile)
    const { stdout } = await run(python, [script, file])
    expect(stdout.trim().split('\n')).toEqual([
      'ada approved client.add client:shop',
      'bob approved operator.add_credential operator:ada',
      'ada approved client.disable client:shop',
    ])
    const forged = join(server.directory, 'forged.jsonl')
    await writeFile(forged, (await readFile(file, 'utf8')).replaceAll('client:shop', 'client:evil'))
    await expect(run(python, [script, forged])).rejects.toThrow('AssertionError')
  })

  const change = (events: readonly Json[], name: string, alter: (event: Json) => Json | undefined): readonly Json[] =>
    events.flatMap((event) => {
      const altered = event['event'] === name ? alter(event) : event
      return altered === undefined ? [] : [altered]
    })
  const isAdd = ({ action }: Json) => action === 'client.add'

  it.each([
    [
      'an approval is missing',
      (events) =>
        change(events, 'approval.given', ({ operator, ...rest }) =>
          operator === 'bob' ? undefined : { operator, ...rest },
        ),
    ],
    [
      'an approval is of another document',
      (events) => change(events, 'approval.given', (event) => ({ ...event, document: '{}' })),
    ],
    [
      'the request says something else',
      (events) =>
        change(events, 'approval.requested', (event) => ({
          ...event,
          document: (event['document'] as string).replace('shop', 'evil'),
        })),
    ],
    [
      'the operator was not known',
      (events) => change(events, 'operators.known', (event) => ({ ...event, operators: [] })),
    ],
    [
      'the operator was disabled',
      (events) =>
        change(events, 'operators.known', (event) => ({
          ...event,
          operators: (event['operators'] as Json[]).map((one) => ({ ...one, disabled: true })),
        })),
    ],
    [
      'a key is another',
      (events) =>
        change(events, 'approval.given', (event) => ({
          ...event,
          public_key: { ...(event['public_key'] as Json), x: 'A'.repeat(43) },
        })),
    ],
    [
      'the name is another',
      (events) =>
        change(events, 'approval.given', (event) => ({
          ...event,
          operator: event['operator'] === 'ada' ? 'bob' : 'ada',
        })),
    ],
    [
      'a change names no approval',
      (events) =>
        change(events, 'administration', ({ approval, ...event }) => (isAdd(event) ? event : { approval, ...event })),
    ],
    [
      'a change names the approval of another',
      (events) =>
        change(events, 'administration', (event) => (isAdd(event) ? { ...event, action: 'client.remove' } : event)),
    ],
    ['nobody broke the glass', (events) => change(events, 'approval.broken_glass', () => undefined)],
  ] satisfies readonly (readonly [string, (events: readonly Json[]) => readonly Json[]])[])(
    'are found wanting where %s (AD48)',
    async (_, forge) => {
      expect((await verify(log)).faults).toEqual([])
      expect((await verify(forge(log))).faults.length).toBeGreaterThan(0)
    },
  )
})
