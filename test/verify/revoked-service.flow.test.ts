import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import express from 'express'
import Koa from 'koa'
import { expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { createVerifier, forExpress, forKoa, type VerifiedRequest } from '../../libraries/verify/index.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { openCommandLine } from '../support/server/command-line.js'
import { startFactorServer } from '../support/server/factor-server.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken } from '../support/signers/softhsm/token.js'
import { listen } from '../support/verify/verify-server.js'

const keep = disposeAfterAll()
const ttl = 60
const audience = 'https://api.example'
const said = ({ principal }: VerifiedRequest) => ({ type: principal.principalType, id: principal.principalId })

describeWith(['softhsm2', 'opensc'], 'a service whose key is in an HSM', () => {
  it('VR29: is refused by an Express and a Koa service within the ttl after `principals revoke`', async () => {
    const plugins = [{ use: 'plugins/attestation/bootstrap' }, { use: 'plugins/attestation/registry' }]
    await using server = await startFactorServer(plugins, (written) => ({
      ...written,
      attestation: { status_list: { ttl_secs: ttl } },
    }))
    await using signet = await openCommandLine()
    const command = async (name: string, ...more: string[]) => {
      const config = join(server.directory, 'signet.yaml')
      const args = ['principals', name, 'payments/worker-1', '--type', 'service', '--config', config, ...more]
      const { code, stdout, stderr } = await signet.run(args)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      return stdout
    }
    const issued = JSON.parse(await command('issue', '--kind', 'bootstrap_secret', '--json')) as { secret: string }

    const verifier = () => createVerifier({ issuers: [server.issuer], audience, clock: server.now })
    const onExpress = express().use(
      forExpress(verifier()),
      (request: object, response: { json(body: object): void }) => {
        response.json(said((request as { device: VerifiedRequest }).device))
      },
    )
    const koa = new Koa().use(forKoa(verifier())).use((context) => {
      context.body = said(context.state['device'] as VerifiedRequest)
    })
    const onKoa = koa.callback()
    const site = async (listener: Parameters<typeof listen>[0]) => {
      const { url, close } = await listen(listener)
      keep({ [Symbol.asyncDispose]: close })
      return url
    }
    await using token = await makeToken()
    await token.makeKey('EC:prime256v1', 'service', '01')
    const order = {
      issuer: server.issuer,
      key: { module: token.module, token: token.label, pin: token.pin, label: 'service' },
      principal: { subject: 'payments', principalId: 'worker-1', principalType: 'service' },
      secret: issued.secret,
      audience,
      apis: [await site(onExpress), await site((request, response) => void onKoa(request, response))],
    }
    const script = join(packageRoot, 'test/verify/hsm-service.js')
    const service = spawn(process.execPath, [script, JSON.stringify(order)], {
      env: { ...process.env, ...token.environment },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const ended = once(service, 'close')
    keep({
      async [Symbol.asyncDispose]() {
        service.stdin.end()
        await ended
      },
    })
    const lines = createInterface({ input: service.stdout })[Symbol.asyncIterator]()
    const call = async (): Promise<unknown> => {
      service.stdin.write('call\n')
      const { value } = (await lines.next()) as { value?: string }
      return JSON.parse(value ?? '"it has ended"')
    }

    const good = { status: 200, type: 'service', id: 'worker-1' }
    expect(await call()).toEqual([good, good])
    const printed = await command('revoke')
    const [, until, listed] =
      /^Revoked payments\/worker-1\. .* accept an earlier one until (\S+) at most, and those that read the status list until (\S+)\.\n$/.exec(
        printed,
      ) ?? []
    expect(Date.parse(String(listed)) - Date.now()).toBeLessThanOrEqual((ttl + 5) * 1000)
    expect(Date.parse(String(until))).toBeGreaterThan(Date.parse(String(listed)))
    server.later(ttl * 1000)
    const refused = expect.objectContaining({ status: 401, error_code: 'device_not_active' }) as unknown
    expect(await call()).toEqual([refused, refused])
  })
})
