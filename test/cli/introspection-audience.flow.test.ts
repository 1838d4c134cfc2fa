import { expect, it } from 'vitest'
import { decodeJws } from '../support/clients/attestation.js'
import { configuration, openCommandLine, requestToken } from '../support/server/command-line.js'

it('--introspection-audience lets a client introspect tokens of its API, and a debug log explains why one is not active', async () => {
  await using cli = await openCommandLine()
  await cli.write('signet.yaml', configuration('log: { level: debug }'))
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  const clients = (...args: string[]) => cli.run(['clients', ...args, '--config', 'signet.yaml'])
  const add = async (...more: string[]) => {
    const { stdout } = await clients('add', '--grant-type', 'client_credentials', '--scope', 'api', '--json', ...more)
    return JSON.parse(stdout) as { client_id: string; client_secret: string }
  }
  const caller = await add()
  const { access_token: token } = (await (
    await requestToken(service, caller.client_id, caller.client_secret)
  ).json()) as {
    access_token: string
  }
  const audience = String(decodeJws(token).payload['aud'])
  const ask = async ({ client_id, client_secret }: { client_id: string; client_secret: string }, about = token) => {
    const response = await fetch(new URL('/introspect', service.public), {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
      body: new URLSearchParams({ token: about }),
    })
    return (await response.json()) as Record<string, unknown>
  }

  const api = await add('--introspection-audience', audience)
  expect(await ask(api)).toMatchObject({ active: true, client_id: caller.client_id })
  const stranger = await add()
  expect(await ask(stranger)).toEqual({ active: false })
  await service.printed('"reason":"it is not for this client"')
  expect(await ask(stranger, 'unknown')).toEqual({ active: false })
  await service.printed('"reason":"it is unknown, malformed or has expired"')
  expect(service.output()).toContain(`"client_id":"${stranger.client_id}"`)
  expect(service.output()).not.toContain(token)

  const changed = await clients('update', stranger.client_id, '--introspection-audience', audience)
  expect(changed.code).toBe(0)
  expect(await ask(stranger)).toMatchObject({ active: true })
  await clients('disable', caller.client_id)
  expect(await ask(stranger)).toEqual({ active: false })
  await service.printed('"reason":"its client is gone or disabled"')
})
