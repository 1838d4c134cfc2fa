import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { expect, it } from 'vitest'
import { boxClient, deviceGrant, personAt, withDevices } from '../support/clients/device.js'
import { person, startServer, subject } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { UserAgent } from '../support/clients/user-agent.js'

const run = promisify(execFile)

describeWith('oidc-agent', 'a device flow of oidc-agent, as Debian ships it', (agentPath) => {
  it('gets a token for a person, and another one by its refresh token', { timeout: 60_000 }, async () => {
    await using server = await startServer({ configure: withDevices })
    const home = await mkdtemp(join(tmpdir(), 'signet-oidc-agent-'))
    const own = { ...process.env, HOME: home, OIDC_CONFIG_DIR: home, OIDC_ENCRYPTION_PW: 'pw' }
    const started = (await run(agentPath, [], { env: own })).stdout
    const env = {
      ...own,
      OIDC_SOCK: /OIDC_SOCK=([^;]+)/.exec(started)?.[1] ?? '',
      OIDCD_PID: /OIDCD_PID=(\d+)/.exec(started)?.[1] ?? '',
    }
    try {
      const wanted = ['--flow=device', `--iss=${server.issuer}`, '--scope=openid offline_access read']
      const client = [`--client-id=${boxClient.client_id}`, `--client-secret=${boxClient.client_secret}`]
      const quiet = ['--redirect-uri=http://localhost:4242', '--no-save', '--confirm-default', '--pw-env']
      const generate = spawn('oidc-gen', [...wanted, ...client, ...quiet, 'account'], {
        env,
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const generated = once(generate, 'exit')
      const output: string[] = []
      const userCode = new Promise<string>((resolve) => {
        for (const stream of [generate.stdout, generate.stderr])
          createInterface({ input: stream }).on('line', (line) => {
            output.push(line)
            const code = /enter the code: (\S+)/.exec(line)?.[1]
            if (code !== undefined) resolve(code)
          })
      })
      const refused = generated.then(() => {
        throw new Error(output.join('\n'))
      })
      const approved = await personAt(new UserAgent(), server.issuer).answer(
        person,
        await Promise.race([userCode, refused]),
      )
      refused.catch(() => undefined)
      expect(approved.status).toBe(200)
      expect((await generated)[0]).toBe(0)

      const { stdout } = await run('oidc-token', ['--time=100000', 'account'], { env })
      const token = /^ey\S+$/m.exec(stdout)?.[0] ?? ''
      const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
      const { payload } = await jwtVerify(token, keys, { issuer: server.issuer, typ: 'at+jwt' })
      expect(payload).toMatchObject({ sub: subject, client_id: boxClient.client_id })
      const grants = (await server.audit()).filter(({ event }) => event === 'token.issued')
      expect(grants.map(({ grant_type }) => grant_type)).toEqual([deviceGrant, 'refresh_token'])
    } finally {
      await run(agentPath, ['--kill'], { env })
      await rm(home, { recursive: true, force: true })
    }
  })
})
