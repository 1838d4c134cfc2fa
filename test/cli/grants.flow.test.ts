import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configuration, openCommandLine, requestToken, type Service } from '../support/server/command-line.js'

const client =
  'clients: [{ client_id: svc, client_secret: svc-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api }]'

const isActive = async (service: Service, token: string): Promise<unknown> => {
  const response = await fetch(new URL('/introspect', service.public), {
    method: 'POST',
    headers: { authorization: `Basic ${btoa('svc:svc-secret-of-more-than-256-bits-for-tests')}` },
    body: new URLSearchParams({ token }),
  })
  return ((await response.json()) as { active?: unknown }).active
}

it('signet grants revoke ends the tokens of a grant while the service runs', async () => {
  await using cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(client))
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  const { access_token: token } = (await (
    await requestToken(service, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')
  ).json()) as {
    access_token: string
  }
  const claims = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString()) as { jti: string }
  const [grantId = ''] = claims.jti.split('.')
  const revoke = (id: string, ...more: string[]) =>
    cli.run(['grants', 'revoke', '--config', 'signet.yaml', ...more, '--', id])
  expect(await isActive(service, token)).toBe(true)

  // No person granted it, so no record says that there is such a grant; its tokens end all the same.
  const unknown = await revoke(grantId)
  expect(unknown).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^No grant of a person has this id/),
  })
  expect(await isActive(service, token)).toBe(false)
  const again = await revoke(grantId, '--json')
  expect(again.code).toBe(1)
  expect(JSON.parse(again.stdout)).toEqual({ grant_id: grantId, state: 'revoked', known: false })
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  expect(audit).toContain(`"event":"administration","action":"grant.revoke","grant_id":"${grantId}"`)

  expect(await revoke(claims.jti)).toMatchObject({ code: 1, stderr: 'This is not a grant id.\n' })
})
