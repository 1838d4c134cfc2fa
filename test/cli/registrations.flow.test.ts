import { expect, it } from 'vitest'
import { codeBlock, linkPackages, readDocument, runCommands } from '../support/document.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { freePort } from '../support/free-port.js'
import { openCommandLine } from '../support/server/command-line.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith(['curl', 'jq', 'openssl'], 'docs/registration.md, step by step', () => {
  it(
    'leads from an empty folder to a client that signs people in, changes and is deleted',
    { timeout: 120_000 },
    async () => {
      await using cli = await openCommandLine()
      linkPackages(cli.folder)
      const ports = new Map([
        ['3000', String(await freePort())],
        ['3001', String(await freePort())],
      ])
      const placed = (text: string) => text.replaceAll(/\b(?:3000|3001)\b/g, (port) => ports.get(port) ?? port)
      await cli.write('provider.yaml', placed(codeBlock('docs/registration.md', 'provider.yaml')))
      const steps = [...placed(readDocument('docs/registration.md')).matchAll(/^```sh\n(.*?)^```$/gms)]
      const [check = '', start = '', issue = '', register = '', open = '', redeem = '', change = '', remove = ''] =
        steps.map(([, text = '']) => text)
      expect(start).toContain('start --config provider.yaml')
      const password =
        (await runCommands(cli.folder, `${check}\necho "$ALICE_PASSWORD"`)).trim().split('\n').at(-1) ?? ''
      process.env['ALICE_PASSWORD'] = password
      try {
        await cli.serve(['start', '--config', 'provider.yaml'])
        expect(await runCommands(cli.folder, issue)).toMatch(/0 of 1 .* partners .*Example Ltd/)
        expect(JSON.parse(await runCommands(cli.folder, register))).toMatchObject({
          scope: 'openid accounts',
          token_endpoint_auth_method: 'client_secret_basic',
          id_token_signed_response_alg: 'RS256',
        })
        const [url = '', verifier = ''] = (await runCommands(cli.folder, `${open}\necho "$VERIFIER"`))
          .trim()
          .split('\n')
        const left = await new UserAgent().authorize(url, { username: 'alice', password })
        const given = `CODE=${left.searchParams.get('code') ?? ''} VERIFIER=${verifier}`
        expect(JSON.parse(await runCommands(cli.folder, `${given}\n${redeem}`))).toMatchObject({
          scope: 'openid accounts',
        })
        expect(JSON.parse(await runCommands(cli.folder, change))).toMatchObject({ client_name: 'Example Ledger 2' })

        const listed = await cli.run(['clients', 'list', '--json', '--config', 'provider.yaml'])
        const [client] = JSON.parse(listed.stdout)
        expect(client).toMatchObject({ source: 'registration', registration: { access_token_sha256: '[secret]' } })
        expect(client.registration).not.toHaveProperty('unused_until')
        const renamed = await cli.run([
          'clients',
          'update',
          client.client_id,
          '--name',
          'L',
          '--config',
          'provider.yaml',
        ])
        expect(renamed.stderr + String(renamed.code)).toBe('0')
        expect((await runCommands(cli.folder, remove)).trim()).toBe('204')

        const again = await cli.run(['registrations', 'issue', '--json', '--config', 'provider.yaml'])
        const { id, initial_access_token } = JSON.parse(again.stdout)
        expect(initial_access_token).toContain(id)
        expect((await cli.run(['registrations', 'revoke', id, '--config', 'provider.yaml'])).code).toBe(0)
        expect((await cli.run(['registrations', 'revoke', id, '--config', 'provider.yaml'])).code).toBe(1)
        const unknown = ['registrations', 'issue', '--policy', 'nobody', '--config', 'provider.yaml']
        expect((await cli.run(unknown)).stderr).toContain('has no policy of this name')
        const lost = ['registrations', 'rotate-token', client.client_id, '--config', 'provider.yaml']
        expect((await cli.run(lost)).stderr).toContain('no such client')
      } finally {
        delete process.env['ALICE_PASSWORD']
      }
    },
  )
})
