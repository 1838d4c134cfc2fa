import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { createDevice } from '../support/clients/attestation.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { openCommandLine, requestToken, type CommandLine } from '../support/server/command-line.js'
import { OperatorBrowser } from '../support/server/operator-browser.js'
import { passkeyOptions } from '../support/server/passkey-server.js'

let product: string
let cli: CommandLine

const run = promisify(execFile)

/** What a user installs: the package as it is published, with ports that the system chooses. */
beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-package-'))
  product = join(folder, 'package')
  const pack = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
  const [{ filename }] = JSON.parse((await run('npm', pack, { cwd: packageRoot })).stdout)
  await run('tar', ['-xzf', join(folder, filename), '-C', folder])
  await symlink(join(packageRoot, 'node_modules'), join(product, 'node_modules'))
  const file = join(product, 'config', 'default.yaml')
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll(/port: \d+/g, 'port: 0'))
  cli = await openCommandLine(product)
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await rm(dirname(product), { recursive: true })
})

describe('signet start without a configuration', () => {
  it('creates its keys, and prints commands that work', async () => {
    const running = await cli.serve(['start'])
    await running.printed('npx signet-idp start --config my.yaml')
    const printed = running.output()
    const [, id, secret] = /curl -u ([\w-]+):(\S+) -d grant_type=client_credentials/.exec(printed)!
    const token = await requestToken(running, id!, secret!)
    expect(token.status).toBe(200)
    expect(await token.json()).toMatchObject({ token_type: 'Bearer', scope: 'api' })

    const [, username, password] = /username {2}(\S+)\n {2}password {2}(\S+)/.exec(printed)!
    expect({ username, length: password!.length }).toEqual({ username: 'demo', length: 16 })
    const page = await fetch(running.public)
    expect({ status: page.status, text: await page.text() }).toEqual({
      status: 200,
      text: expect.stringContaining('demo-page'),
    })

    const [link] = /http:\/\/localhost:\d+\/console\/sign-in\/link\/[\w-]{43}/.exec(printed)!
    const operator = new OperatorBrowser(running.admin)
    expect((await operator.open(link)).status).toBe(200)
    expect((await operator.post(link, {})).location).toBe('/console')
    expect((await operator.open('/console')).status).toBe(200)

    expect(printed).toContain('http://localhost:3000/account/passkeys')
    const agent = new UserAgent()
    const { left } = await agent.follow(`${running.public}/account`)
    const signIn = await (await agent.fetch(running.public + left!.pathname)).text()
    expect(signIn).toContain('autocomplete="username webauthn"')
    expect(passkeyOptions(signIn)).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
    for (const script of ['passkey-login.js', 'webauthn.js'])
      expect((await fetch(`${running.public}/assets/${script}`)).status).toBe(200)

    const [, bootstrap] = /secret {4}(\S{43})\n/.exec(printed)!
    const demoDevice = { subject: 'demo-248289761001', principal_id: 'demo-browser' }
    const second_factor = { kind: 'bootstrap_secret', value: bootstrap! }
    const browser = await createDevice(running.public, { ...demoDevice, second_factor })
    await browser.renew(await browser.attest())
    expect((await browser.enrol()).body).toMatchObject({ error_code: 'SecondFactorFailed' })

    const lines = printed.split('\n').filter((line) => line.startsWith('{'))
    for (const hidden of [secret!, password!, bootstrap!]) expect(lines.join('\n')).not.toContain(hidden)
    running.child.kill('SIGTERM')
    expect(await running.ended).toBe(0)

    const again = await cli.serve(['start'])
    expect((await requestToken(again, id!, secret!)).status).toBe(401)
    again.child.kill('SIGTERM')
    expect(await again.ended).toBe(0)
  })

  it('shares its store with the other commands when they name its file', async () => {
    const running = await cli.serve(['start'])
    const added = await cli.run([
      'clients',
      'add',
      '--client-id',
      'mine',
      '--grant-type',
      'client_credentials',
      '--config',
      join(product, 'config', 'default.yaml'),
      '--json',
    ])
    expect((await requestToken(running, 'mine', JSON.parse(added.stdout).client_secret)).status).toBe(200)
    running.child.kill('SIGTERM')
    expect(await running.ended).toBe(0)
  })

  it('has no demo client and account when the same file is given explicitly', async () => {
    const running = await cli.serve(['start', '--config', join(product, 'config', 'default.yaml')])
    expect(await (await fetch(running.public)).text()).not.toContain('demo-page')
    running.child.kill('SIGTERM')
    expect(await running.ended).toBe(0)
    expect(running.output()).not.toContain('demo')
  })
})
