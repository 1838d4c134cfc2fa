import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile } from 'node:fs/promises'
import { X509Certificate } from 'node:crypto'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, vi } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { codeBlock, linkPackages, readDocument, runCommands } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { openCommandLine } from '../support/server/command-line.js'
import { describeWith } from '../support/services/describe-with.js'

type PaymentsOf = (token: string, certificate: Uint8Array) => Promise<readonly unknown[]>

describeWith(['haproxy', 'softhsm2', 'openssl', 'opensc', 'curl', 'jq'], 'docs/fapi.md, step by step', () => {
  it('leads from an empty folder to a payment that the API accepts', { timeout: 120_000 }, async () => {
    await using cli = await openCommandLine()
    linkPackages(cli.folder)
    await copyFile(join(packageRoot, 'deploy/mtls/haproxy.cfg'), join(cli.folder, 'haproxy.cfg'))
    const ports = new Map([
      ['3000', String(await freePort())],
      ['3001', String(await freePort())],
      ['8443', String(await freePort())],
    ])
    const placed = (text: string) => text.replaceAll(/\b(?:3000|3001|8443)\b/g, (port) => ports.get(port) ?? port)
    for (const name of ['bank.yaml', 'api.mjs']) await cli.write(name, placed(codeBlock('docs/fapi.md', name)))
    const [keys = '', check = '', start = '', balance = '', payment = '', redeem = ''] = [
      ...placed(readDocument('docs/fapi.md')).matchAll(/^```sh\n(.*?)^```$/gms),
    ].map(([, text = '']) => text)
    expect(start).toContain('start --config bank.yaml')

    const shell = async (text: string): Promise<string[]> => (await runCommands(cli.folder, text)).trim().split('\n')
    const password = (await shell(`${keys}\necho "$ALICE_PASSWORD"`)).at(-1) ?? ''
    vi.stubEnv('SOFTHSM2_CONF', join(cli.folder, 'softhsm/softhsm2.conf'))
    vi.stubEnv('ALICE_PASSWORD', password)
    const checked = (await shell(check)).join('\n')
    for (const text of ['is in order', 'clients  bank-app', 'bank-1  hsm     ES256  active'])
      expect(checked).toContain(text)
    expect(checked).not.toMatch(/failed|warning/)

    await cli.serve(['start', '--config', 'bank.yaml'])
    const balancer = spawn('bash', ['-c', balance], { cwd: cli.folder, stdio: 'ignore', detached: true })
    const gone = once(balancer, 'exit')
    try {
      const pushAndTell = `${payment}\necho "$VERIFIER"`
      // While the balancer starts, curl prints nothing, and jq makes nothing of it without an error.
      let pushed: readonly string[] = []
      const push = async () => (pushed = await shell(pushAndTell)).join('\n')
      await expect.poll(push, { timeout: 20_000 }).toContain('request_uri=urn:')
      const [url = '', verifier = ''] = pushed.slice(-2)
      const left = await new UserAgent().authorize(url, { username: 'alice', password })
      expect(`${left.origin}${left.pathname}`).toBe('https://app.bank.example/callback')
      const given = `CODE=${left.searchParams.get('code') ?? ''} VERIFIER=${verifier}`
      const [userinfo = '', token = ''] = (await shell(`${given}\n${redeem}\necho\necho "$TOKEN"`)).slice(-2)
      expect(JSON.parse(userinfo)).toEqual({ sub: '248289761001' })

      const { paymentsOf } = (await import(pathToFileURL(join(cli.folder, 'api.mjs')).href)) as {
        paymentsOf: PaymentsOf
      }
      const certificate = async (name: string) => new X509Certificate(await readFile(join(cli.folder, name))).raw
      const instructedAmount = { currency: 'EUR', amount: '12.34' }
      expect(await paymentsOf(token, await certificate('client.pem'))).toMatchObject([{ instructedAmount }])
      await expect(paymentsOf(token, await certificate('ca.pem'))).rejects.toThrow('another certificate')
    } finally {
      vi.unstubAllEnvs()
      if (balancer.pid !== undefined) process.kill(-balancer.pid, 'SIGTERM')
      await gone
    }
  })
})
