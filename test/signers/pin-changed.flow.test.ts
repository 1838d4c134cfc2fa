import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { never } from '../support/signers/softhsm/watched.js'

// docs/runbooks.md, "The PIN is changed".

describeWith(['softhsm2', 'opensc'], 'a PIN that was changed on the token', () => {
  let cli: CommandLine
  let token: SoftToken
  beforeEach(async () => {
    cli = await openCommandLine()
    token = await makeToken()
    await using maker = await openProvider(token)
    await maker.create?.('key', 'EdDSA', never)
  })
  afterEach(async () => {
    await cli[Symbol.asyncDispose]()
    await token[Symbol.asyncDispose]()
  })

  const write = async (pin: string) => {
    const environment = JSON.stringify(token.environment)
    const signer = `  hsm: { use: signers/pkcs11, options: { module: ${token.module}, token: ${token.label}, pin: ${pin}, environment: ${environment} } }\n`
    const text = configuration('audit: { file: ./audit.jsonl }\n')
      .replace(/(?<=^signers:\n).*\n/m, signer)
      .replace(/(?<=^keys:\n).*\n/m, "  - { kid: ed-1, alg: EdDSA, signer: hsm, ref: 'pkcs11:object=key' }\n")
    await cli.write('signet.yaml', text)
  }

  /** Starts with the PIN of the token, changes that, and ends the child as a fault would. */
  const startAndChange = async () => {
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const ready = async () =>
      (await (await fetch(`${service.admin}/health/ready`)).json()) as {
        status: string
        components: Record<string, { message?: string }>
      }
    await expect.poll(async () => (await ready()).status, { timeout: 10_000 }).toBe('ready')
    await token.tool('--change-pin', '--new-pin', 'another-pin')
    const pid = /"child_pid":(\d+)/.exec(service.output())?.[1]
    process.kill(Number(pid), 'SIGKILL')
    await service.printed('It is not tried again until the configuration changes.')
    // Well below the 30 s after which a key is probed, and without a request.
    await expect
      .poll(async () => (await ready()).components['keys.ed-1']?.message, { timeout: 5000 })
      .toContain('CKR_PIN_INCORRECT')
    expect((await ready()).status).toBe('not ready')
    const reload = () => fetch(`${service.admin}/reload`, { method: 'POST' })
    return { ready, reload }
  }

  it('in a variable: turns not ready at once, and a reload names the variable', async () => {
    process.env['SIGNET_TEST_CHANGED_PIN'] = token.pin
    await write('{ $env: SIGNET_TEST_CHANGED_PIN }')
    const { reload } = await startAndChange()
    delete process.env['SIGNET_TEST_CHANGED_PIN']
    expect(await (await reload()).json()).toEqual({
      status: 'unchanged',
      warnings: [
        {
          path: 'signers.hsm',
          message: expect.stringMatching(
            /CKR_PIN_INCORRECT; a reload does not see new values of SIGNET_TEST_CHANGED_PIN: restart Signet/,
          ) as string,
        },
      ],
    })
  })

  it('in a file: readiness turns red at once, and a reload with the new PIN signs again', async () => {
    await writeFile(join(cli.folder, 'hsm-pin'), `${token.pin}\n`)
    await write('{ $file: hsm-pin }')
    const { ready, reload } = await startAndChange()
    expect(await (await reload()).json()).toMatchObject({
      status: 'unchanged',
      warnings: [{ path: 'signers.hsm', message: expect.stringMatching(/correct its options, and reload$/) as string }],
    })
    await writeFile(join(cli.folder, 'hsm-pin'), 'another-pin\n')
    expect(await (await reload()).json()).toMatchObject({ status: 'reloaded' })
    await expect.poll(async () => (await ready()).status, { timeout: 10_000 }).toBe('ready')
  })
})
