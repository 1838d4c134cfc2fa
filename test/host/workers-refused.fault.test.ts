import { afterAll, beforeAll, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { doubleOf, type DoubledToken } from '../support/signers/pkcs11-double/double.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { readiness, workerPids } from '../support/server/workers.js'

const refusal = 'none is restarted until a reload'

describeWith(['softhsm2', 'gcc'], 'workers whose PIN was changed on the token (F21)', () => {
  let cli: CommandLine
  let token: SoftToken
  let double: DoubledToken
  let ref: string
  beforeAll(async () => {
    cli = await openCommandLine()
    token = await makeToken()
    const maker = await openProvider(token)
    ref = (await maker.create?.('key', 'ES256', AbortSignal.timeout(30_000))) ?? ''
    await maker[Symbol.asyncDispose]()
    double = await doubleOf(token)
  })
  afterAll(async () => {
    await cli[Symbol.asyncDispose]()
    await token[Symbol.asyncDispose]()
  })

  it('make one attempt at startup, and one at each reload', async () => {
    const { module, label, pin, environment } = double
    const options = JSON.stringify({ module, token: label, pin, environment, sessions: 1 })
    const written = configuration('workers: 2\n')
      .replace('signers:', `signers:\n  hsm: { use: signers/pkcs11, options: ${options} }`)
      .replace('keys:', `keys:\n  - { kid: hsm-1, alg: ES256, signer: hsm, ref: '${ref}' }`)
    await cli.write('signet.yaml', written)
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const refusals = (): number => service.output().split(refusal).length - 1
    const reload = () => fetch(`${service.admin}/reload`, { method: 'POST', body: new URLSearchParams() })
    expect(await double.calls('C_Login')).toBe(2)
    await service.printed('"worker":"2","msg":"worker started"')
    const [first, second] = workerPids(service)
    if (first === undefined || second === undefined) throw new Error('two workers have not started')

    await double.command('C_Login return 0xa0')
    process.kill(second, 'SIGKILL')
    await expect.poll(refusals, { timeout: 30_000 }).toBe(1)
    expect(await double.calls('C_Login')).toBe(3)
    const held = { status: 'down', message: 'the configuration was refused: restarted after a reload' }
    await expect
      .poll(() => readiness(service), { timeout: 30_000 })
      .toMatchObject({
        status: 'ready',
        components: { workers: { status: 'down', message: '1 of 2 are ready' }, 'worker.2.process': held },
      })

    // Nor is another one, although nobody knows what became of it.
    process.kill(first, 'SIGKILL')
    await expect.poll(refusals).toBe(2)
    await expect
      .poll(() => readiness(service), { timeout: 30_000 })
      .toMatchObject({
        status: 'not ready',
        components: { 'worker.1.process': held, 'worker.2.process': held },
      })
    expect((await reload()).status).toBe(503)
    await expect.poll(refusals, { timeout: 30_000 }).toBe(3)
    expect(await double.calls('C_Login')).toBe(4)

    await double.heal()
    expect((await reload()).status).toBe(503)
    await expect
      .poll(() => readiness(service), { timeout: 30_000 })
      .toMatchObject({
        status: 'ready',
        components: { workers: { status: 'up' } },
      })
    expect(await double.calls('C_Login')).toBe(6)
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  }, 120_000)
})
