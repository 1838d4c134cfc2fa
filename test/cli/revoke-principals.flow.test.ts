import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice } from '../support/clients/attestation.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write(
    'signet.yaml',
    configuration(`  - { use: plugins/attestation/approval, options: { expires_secs: 600 } }
  - use: plugins/attestation/registry
attestation: { signing_alg: EdDSA }`),
  )
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const principals = (...args: string[]) => cli.run(['principals', ...args, '--config', 'signet.yaml'])
const enrol = async (id: string) => {
  const device = await createDevice(service.public, {
    principal_id: id,
    second_factor: { kind: 'approval', value: '4711' },
  })
  await device.enrol()
  const waiting = JSON.parse((await principals('waiting', '--json')).stdout) as readonly { readonly id: string }[]
  expect((await principals('approve', waiting[0]!.id)).code).toBe(0)
  return { device, attestation: await device.attest() }
}

it('revokes several by name and all of a file, and reports those that failed', async () => {
  const [one, two, three] = [await enrol('meter-1'), await enrol('meter-2'), await enrol('meter-3')]
  const named = await principals('revoke', 'alice/meter-1', 'alice/meter-9', 'alice/meter-2', 'alice/meter-1')
  expect(named).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^Revoked alice\/meter-1\nRevoked alice\/meter-2\nRevoked 2 principals\. .* until \S+Z at most\.\n$/,
    ),
    stderr: 'alice/meter-9: There is no such principal of the type device. For a service, add --type service.\n',
  })
  expect((await one.device.reissue(one.attestation)).status).toBe(403)
  expect((await two.device.reissue(two.attestation)).status).toBe(403)
  expect((await three.device.reissue(three.attestation)).status).toBe(200)

  await cli.write('batch.csv', 'subject,principal_id\nalice,meter-2\nalice,meter-3\n')
  const bulk = await principals('revoke', '--from', 'batch.csv', '--json')
  expect(bulk).toMatchObject({ code: 1, stderr: 'alice/meter-2: This principal is already revoked.\n' })
  expect(JSON.parse(bulk.stdout)).toEqual([
    {
      ...{ subject: 'alice', principal_id: 'meter-3', principal_type: 'device', state: 'revoked' },
      attestations_valid_until: expect.stringMatching(/Z$/),
    },
  ])
  expect((await three.device.reissue(three.attestation)).status).toBe(403)
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  for (const id of ['meter-1', 'meter-2', 'meter-3'])
    expect(audit).toMatch(new RegExp(`"event":"administration","action":"principal.revoke".*"principal_id":"${id}"`))
  expect(audit).not.toMatch(/"event":"administration","action":"principal.revoke".*"principal_id":"meter-9"/)

  await cli.write('wrong.csv', 'subject,principal_id\nalice,meter-3\nalice,\n')
  expect(await principals('revoke', '--from', 'wrong.csv')).toMatchObject({ code: 1, stdout: '' })
  for (const twice of [['alice/meter-1', '--from', 'batch.csv'], ['--subject', 'alice', '--from', 'batch.csv'], []])
    expect((await principals('revoke', ...twice)).code).toBe(2)
  for (const id of ['alice/meter-1', 'alice/meter-2', 'alice/meter-3'])
    expect((await principals('release', id)).stdout).toBe(`Released ${id}\n`)
})
