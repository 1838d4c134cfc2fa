import { afterEach, beforeEach, expect, it } from 'vitest'
import { parse } from 'yaml'
import { doubleRegion, startKmsDouble } from '../../core/testing/kms-double/index.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken } from '../support/signers/softhsm/token.js'

/** A folder, and so a store, for each deployment. */
let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

/** A service inherits them. */
const env = { AWS_ACCESS_KEY_ID: 'AKIADOUBLE', AWS_SECRET_ACCESS_KEY: 'the double does not look at it' }
Object.assign(process.env, env)

interface Stray {
  readonly signer: string
  readonly ref: string
  readonly name?: string
  readonly tags?: object
}

interface Scene {
  /** The name of the file. */
  readonly name: string
  readonly signer: object
  /** How `ref` of the fixed key in the file spells the name. */
  readonly spelled?: (name: string) => string
  /** Of the slot. */
  readonly template?: string
}

/** A deployment with one slot and one fixed key, which share the prefix of their names. */
const open = async ({ name, signer, spelled = (text) => text, template }: Scene) => {
  const file = `${name}.yaml`
  const command = async (command: string, ...more: string[]) =>
    cli.run(['keys', command, '--config', file, ...more], { env })
  const write = (keys: readonly object[]) =>
    cli.write(
      file,
      configuration()
        .replace(/^signers:\n.*\n/m, `signers:\n  backend: ${JSON.stringify(signer)}\n`)
        .replace(/^keys:\n.*\n/m, `keys:\n${keys.map((key) => `  - ${JSON.stringify(key)}\n`).join('')}`),
    )
  const fixed = { kid: 'fixed', alg: 'EdDSA', signer: 'backend', ref: spelled('signet-fixed') }
  const slot = {
    slot: 'es',
    alg: 'EdDSA',
    signer: 'backend',
    purposes: ['id_token'],
    ...(template !== undefined && { ref: template }),
  }
  const create = async (ref: string): Promise<string> => {
    const made = await command('create', '--signer', 'backend', '--alg', 'EdDSA', '--ref', ref)
    return (parse(made.stdout) as { ref: string }[])[0]?.ref ?? made.stderr
  }
  await write([slot])
  await create('signet-fixed')
  await write([fixed, slot])
  const strays = async () => {
    const { code, stdout, stderr } = await command('strays', '--json')
    expect(stderr).toBe('')
    return { code, strays: JSON.parse(stdout) as readonly Stray[] }
  }
  return { file, command, create, strays }
}

/** The slot makes its keys in a service. */
const serve = async ({ file }: { readonly file: string }) => {
  const service = await cli.serve(['start', '--config', file])
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
}

it('KR17 in files: a key with the prefix that no record and no line of the file knows', async () => {
  const scene = await open({ name: 'local', signer: { use: 'signers/local', options: { directory: './strays' } } })
  expect(await scene.command('strays')).toMatchObject({ code: 0, stdout: 'No strays.\n', stderr: '' })
  await serve(scene)
  expect(await scene.command('strays')).toMatchObject({ code: 0, stdout: 'No strays.\n', stderr: '' })
  expect(await scene.strays()).toEqual({ code: 0, strays: [] })
  await scene.create('signet-es-9')
  await scene.create('other')
  expect(await scene.strays()).toEqual({
    code: 1,
    strays: [{ signer: 'backend', ref: 'signet-es-9', name: 'signet-es-9' }],
  })
  const table = await scene.command('strays')
  expect(table).toMatchObject({ code: 1, stdout: expect.stringMatching(/^SIGNER +REF .*\nbackend +signet-es-9 /) })
})

it('KR17 in files: of a template without a beginning of its own, only names that it could have made', async () => {
  const signer = { use: 'signers/local', options: { directory: './bare' } }
  const scene = await open({ name: 'bare', signer, template: '{kid}' })
  await serve(scene)
  for (const other of ['other', 'rs-9', 'es-09', 'es-0', 'es-9.old', 'es-x']) await scene.create(other)
  expect(await scene.strays()).toEqual({ code: 0, strays: [] })
  await scene.create('es-9')
  expect(await scene.strays()).toEqual({ code: 1, strays: [{ signer: 'backend', ref: 'es-9', name: 'es-9' }] })
})

it('KR17 in files: without the records it says that they are away, and calls nothing a stray', async () => {
  await open({ name: 'away', signer: { use: 'signers/local', options: { directory: './away' } } })
  await cli.write(
    'gone.yaml',
    `extends: away.yaml\nstorage:\n  records: { use: redis, options: { url: "redis://127.0.0.1:1" } }\n`,
  )
  const { code, stdout } = await cli.run(['keys', 'strays', '--config', 'gone.yaml'], { env })
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
})

it('KR17 in KMS: a key with the tags of this deployment, whatever its name', async () => {
  await using double = await startKmsDouble()
  const options = { region: doubleRegion, endpoint: double.endpoint }
  const signer = { use: 'signers/aws-kms', options }
  const scene = await open({ name: 'kms', signer, spelled: (name) => `alias/${name}` })
  await serve(scene)
  const [made] = double.keys().filter(({ tags }) => tags['signet:kid'] === 'es-1')
  expect(made).toMatchObject({ alias: 'alias/signet-es-1' })
  expect(await scene.strays()).toEqual({ code: 0, strays: [] })
  const tags = [
    { TagKey: 'signet:deployment', TagValue: made?.tags['signet:deployment'] ?? '' },
    { TagKey: 'signet:slot', TagValue: 'es' },
    { TagKey: 'signet:kid', TagValue: 'es-1' },
  ]
  const { arn } = await double.createKey('ECC_NIST_P256', { tags })
  await double.createKey('ECC_NIST_P256', { alias: 'alias/signet-es-9' })
  expect(await scene.strays()).toMatchObject({
    code: 1,
    strays: [{ signer: 'backend', ref: arn, tags: { slot: 'es', kid: 'es-1' }, disabled: false }],
  })
})

describeWith('softhsm2', 'in a PKCS#11 token', () => {
  it('KR17 a key with the prefix, also one with the label of a key of the slot', async () => {
    await using token = await makeToken()
    const { module, label, pin, environment } = token
    const options = { module, token: label, pin, environment }
    const spelled = (name: string) => `pkcs11:object=${name}`
    const scene = await open({ name: 'hsm', signer: { use: 'signers/pkcs11', options }, spelled })
    await serve(scene)
    expect(await scene.strays()).toEqual({ code: 0, strays: [] })
    await token.makeKey('EC:edwards25519', 'signet-es-1', '77')
    expect(await scene.strays()).toEqual({
      code: 1,
      strays: [{ signer: 'backend', ref: expect.stringContaining('object=signet-es-1;id=%77'), name: 'signet-es-1' }],
    })
  })
})
