import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { KMSClient, SignCommand } from '@aws-sdk/client-kms'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { doubleRegion, startKmsDouble, type KmsDouble } from '../../core/testing/kms-double/index.js'
import { codeBlock, linkPackages } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

const env = { AWS_ACCESS_KEY_ID: 'AKIADOUBLE', AWS_SECRET_ACCESS_KEY: 'the double does not look at it' }

let cli: CommandLine
beforeAll(async () => {
  process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] = 'true'
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

let double: KmsDouble
beforeEach(async () => {
  double = await startKmsDouble()
})
afterEach(() => double[Symbol.asyncDispose]())

const signer = (more: object = {}): string =>
  JSON.stringify({ use: 'signers/aws-kms', options: { region: doubleRegion, endpoint: double.endpoint, ...more } })

describe('signet keys create in AWS KMS', () => {
  const create = async (more: object = {}) => {
    await cli.write('create.yaml', configuration().replace(/^signers:$/m, `$&\n  kms: ${signer(more)}`))
    const args = ['--config', 'create.yaml', '--signer', 'kms', '--alg', 'ES256', '--ref', 'tokens']
    const { code, stdout, stderr } = await cli.run(['keys', 'create', ...args], { env })
    const [key] = parse(stdout) as { signer: string; ref: string }[]
    return { code, key, stderr }
  }

  it('creates a multi-Region key with its replicas', async () => {
    const made = await create({ replicas: [{ region: 'eu-west-1', endpoint: double.endpoint }] })
    expect(made).toMatchObject({ code: 0, key: { signer: 'kms', ref: expect.stringMatching(/^arn:.*:key\/mrk-/) } })
    const replica = made.key?.ref.replace(`:${doubleRegion}:`, ':eu-west-1:')
    expect(double.keys()).toContainEqual({ arn: replica, state: 'Enabled', tags: {}, alias: 'alias/tokens' })
  })

  it('reports the key that was created, also when it cannot be opened', async () => {
    double.fail({ fault: { error: 'AccessDeniedException' }, action: 'GetPublicKey' })
    const made = await create()
    expect(made).toMatchObject({ code: 1, key: { ref: expect.stringMatching(/^arn:.*:key\//) } })
    expect(made.stderr).toMatch(/^The key was created, but cannot sign: .*need kms:GetPublicKey/m)
  })
})

it('a deployment signs with the double of docs/signers.md as with local keys', async () => {
  const port = String(await freePort())
  await cli.write('kms-double.mjs', codeBlock('docs/signers.md', 'kms-double.mjs').replace('4566', port))
  linkPackages(cli.folder)
  const program = spawn(process.execPath, ['kms-double.mjs'], { cwd: cli.folder, stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const [endpoint] = (await once(createInterface({ input: program.stdout }), 'line')) as [string]
    expect(endpoint).toBe(`http://127.0.0.1:${port}`)
    const key = (kid: string, alg: string) => `  - { kid: ${kid}, alg: ${alg}, signer: local, ref: ${kid} }\n`
    const local = configuration()
      .replace(/(?<=^keys:\n).*\n/m, key('local-es', 'ES256') + key('local-rs', 'RS256'))
      .replace('_alg: EdDSA', '_alg: RS256\naccess_token_signing_alg: ES256')
    await cli.write('local.yaml', local)
    await cli.write('kms.yaml', codeBlock('docs/signers.md', 'kms.yaml').replace('4566', port))
    const { code, stdout } = await cli.run(['doctor', '--config', 'kms.yaml'], { env })
    expect(stdout).toContain('rs-1')
    expect(code).toBe(0)
    const compared = await cli.run(['doctor', '--compare', 'local.yaml', 'kms.yaml'], { env })
    expect(compared).toMatchObject({ code: 0, stdout: expect.stringContaining('They sign alike.') })
  } finally {
    program.kill('SIGKILL')
  }
})

describe('signet audit reconcile with a key that has an alias', () => {
  const reconcile = async () => {
    await cli.write('trail.json', JSON.stringify(double.cloudTrail()))
    const args = [
      'audit',
      'reconcile',
      '--config',
      'signet.yaml',
      '--cloudtrail',
      'trail.json',
      '--audit',
      'audit.jsonl',
    ]
    const { code, stdout } = await cli.run(args)
    const json = await cli.run([...args, '--json'])
    return { code, stdout, found: JSON.parse(json.stdout) as object }
  }
  const sign = async (KeyId: string): Promise<void> => {
    const credentials = { accessKeyId: 'AKIAMALLORY', secretAccessKey: 'x' }
    const client = new KMSClient({ region: doubleRegion, endpoint: double.endpoint, credentials })
    const Message = Buffer.alloc(32)
    await client.send(new SignCommand({ KeyId, Message, MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' }))
    client.destroy()
  }

  it('names its signatures, and ignores other keys once its proofs identify it', async () => {
    const { arn } = await double.createKey('ECC_NIST_P256', { alias: 'alias/tokens' })
    const { arn: others } = await double.createKey('ECC_NIST_P256')
    const keys = '  - { kid: kms-1, alg: ES256, signer: kms, ref: alias/tokens }'
    const written = configuration('audit: { file: ./audit.jsonl }')
      .replace(/^signers:$/m, `$&\n  kms: ${signer()}`)
      .replace(/^keys:$/m, `$&\n${keys}`)
    await cli.write('signet.yaml', written)
    await cli.write('audit.jsonl', '')

    await sign(others)
    const unknown = await reconcile()
    expect(unknown).toMatchObject({ code: 1, found: { unissued: [{ key: others }], unnamed: ['alias/tokens'] } })
    expect(unknown.stdout).toMatch(/^signatures by other keys may be included: .* which key is alias\/tokens$/m)

    expect(await cli.run(['doctor', '--config', 'signet.yaml'], { env })).toMatchObject({ code: 0 })
    const sound = await reconcile()
    expect(sound).toMatchObject({ code: 0, found: { unissued: [], unsigned: [], unnamed: [] } })
    expect(sound.stdout).not.toContain('signatures by other keys')

    await sign(arn)
    const request_id = double.calls.at(-1)?.requestID
    expect(await reconcile()).toMatchObject({ code: 1, found: { unissued: [{ request_id, key: arn }] } })
  })
})
