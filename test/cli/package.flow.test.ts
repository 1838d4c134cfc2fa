import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeBlock } from '../support/document.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'
import { openNewProject, type NewProject } from '../support/server/new-project.js'

// What somebody has who follows the documents in an empty folder, with the package as `npm pack` makes it in a clone.

let project: NewProject
const edit = async (name: string, change: (text: string) => string): Promise<void> => {
  const file = join(project.folder, name)
  await writeFile(file, change(await readFile(file, 'utf8')))
}
const anyPort = (text: string) => text.replaceAll(/port: \d+/g, 'port: 0')
const requestToken = (issuer: string, credentials: string, form: Record<string, string>): Promise<Response> =>
  fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(credentials)}` },
    body: new URLSearchParams(form),
  })

/** What it printed. */
const succeed = async (lines: string): Promise<string> => {
  const { code, stdout, stderr } = await project.run(lines)
  if (code !== 0) throw new Error(`${lines}\n${stdout}${stderr}`)
  progress = stderr
  return stdout
}
/** What the last one said meanwhile. */
let progress: string
/** Of `npm pack` and the installation. */
let packed: string

// A build and an installation.
beforeAll(async () => {
  project = await openNewProject()
  await succeed(codeBlock('docs/plugins.md', 'In an empty folder'))
  packed = progress
}, 600_000)
afterAll(() => project[Symbol.asyncDispose]())

describe('the package in an empty folder', () => {
  it('shows progress while `npm pack` builds it', () => {
    const steps = [
      'Compiling the service and checking its types ...',
      'Compiling the libraries ...',
      'Bundling what pages load ...',
    ]
    expect(packed.split('\n').filter((line) => steps.includes(line))).toEqual(steps)
  })

  it('runs no script when it is installed', async () => {
    const manifest = await readFile(join(project.folder, 'node_modules/signet-idp/package.json'), 'utf8')
    const { scripts } = JSON.parse(manifest) as { scripts: object }
    const run = ['preinstall', 'install', 'postinstall', 'prepare']
    expect(Object.keys(scripts).filter((name) => run.includes(name))).toEqual([])
  })

  it('serves the demo, whose printed command gets a token', async () => {
    await edit('node_modules/signet-idp/config/default.yaml', anyPort)
    const demo = await project.serve('npx signet-idp start')
    const printed = await demo.printed('npx signet-idp start --config my.yaml')
    const [, credentials] = /curl -u (\S+) -d grant_type=client_credentials/.exec(printed)!
    const answer = await requestToken(demo.public, credentials!, { grant_type: 'client_credentials' })
    expect({ status: answer.status, body: await answer.json() }).toMatchObject({
      status: 200,
      body: { token_type: 'Bearer', scope: 'api' },
    })
    await demo.stop()
  })

  it('runs a custom grant, which passes the attack suite', async () => {
    const tried = await succeed(codeBlock('docs/writing-a-grant.md', 'In the folder of the project'))
    expect(tried).toMatch(/signet\.yaml is in order[^]* 0 findings/)
    await edit('signet.yaml', anyPort)
    const bank = await project.serve('npx signet-idp start --watch --config signet.yaml')
    const ask = (loan: string) =>
      requestToken(bank.public, 'branch-7:known-to-all-who-read-this-example', {
        grant_type: 'urn:bank.example:grant:loan',
        loan,
      })
    expect((await ask('L-1001')).status).toBe(200)
    expect(await (await ask('L-1002')).json()).toMatchObject({ error: 'invalid_grant' })
    await bank.stop()
  })

  it('finds the hole in a grant', async () => {
    await edit('loan.js', (text) => text.replace('input.loan, scope,', "input.loan, scope: ['admin'],"))
    const attacked = await project.run('node attack-loan.js')
    expect(attacked).toMatchObject({ code: 1, stderr: expect.stringMatching(/^scope: /m) })
  })

  it('names a missing package that a configured module needs', async () => {
    await writeFile(
      join(project.folder, 'packages.yaml'),
      `issuer: http://localhost:3000
signers: { kms: { use: signers/aws-kms } }
keys: [{ kid: a, alg: ES256, signer: kms, ref: alias/a }]
plugins: [{ use: plugins/grants/client-credentials }, { use: plugins/login/oidc }]
storage:
  records: { use: mongodb, options: { uri: mongodb://127.0.0.1 } }
  ephemeral: { use: redis, options: { url: redis://127.0.0.1 } }
`,
    )
    const { code, stdout } = await project.run('npx signet-idp check --config packages.yaml')
    expect(code).toBe(1)
    for (const [path, name] of [
      ['signers.kms.use', '@aws-sdk/client-kms'],
      ['plugins[1].use', 'openid-client'],
      ['storage.records.use', 'mongodb'],
      ['storage.ephemeral.use', 'ioredis'],
    ])
      expect(stdout).toContain(`${path}: needs the package ${name}: run \`npm install "${name}@^`)
  })

  const typed = `import { defineGrant, definePlugin, OAuthError } from 'signet-idp'
import { checkPublicJwk, defineSigner } from 'signet-idp/signer'
import { BadOption, defineStorage, type StorageBackend } from 'signet-idp/storage'
import { createCertificateChains, type EvidenceVerifier } from 'signet-idp/attestation'
import { attackGrant, checkSigner, checkStorage, startKmsDouble } from 'signet-idp/testing'
import { z } from 'zod'

const loan = defineGrant({
  grantType: 'urn:bank.example:grant:loan',
  clientAuthentication: 'confidential',
  params: z.object({ loan: z.string() }),
  handle: ({ input, scope, resource }) => {
    if (input.loan === '') throw new OAuthError('invalid_grant', 'There is no such loan.')
    return Promise.resolve({ subject: input.loan, scope, audience: resource })
  },
})
const plugin = definePlugin({ name: 'loan', apiVersion: 1, create: () => ({ grants: [loan] }) })
export const report = attackGrant(plugin, { requests: [{ client: { client_id: 'branch-7' }, params: { loan: 'L-1' } }] })
export { checkPublicJwk, checkSigner, checkStorage, createCertificateChains, defineSigner, startKmsDouble, type EvidenceVerifier }
export const store = defineStorage({
  name: 'none',
  apiVersion: 1,
  contract: 4,
  open: (): Promise<StorageBackend> => Promise.reject(new BadOption('uri', 'is none')),
})
export * as device from 'signet-idp/device'
export * as node from 'signet-idp/device/node'
export * as verify from 'signet-idp/verify'
`
  const options = '--ignoreConfig --noEmit --strict --module nodenext --target es2023 --types node typed.ts'

  it('has types that pass in a project without skipLibCheck', async () => {
    await succeed(codeBlock('docs/plugins.md', 'For TypeScript'))
    await writeFile(join(project.folder, 'typed.ts'), typed)
    const compile = `npx tsc ${options}`
    expect(await project.run(`${compile} --skipLibCheck false`)).toEqual({ code: 0, stdout: '', stderr: '' })
    await edit('typed.ts', (text) => text.replace("'confidential'", "'confidentail'"))
    const { code, stdout } = await project.run(compile)
    expect({ code, stdout }).toEqual({ code: 2, stdout: expect.stringContaining(`Did you mean '"confidential"'?`) })
  })

  describeWith('typescript recipe', 'the newest compiler and the newest types of Node', () => {
    it('reads its types', async () => {
      const { folder } = recipes.typescript
      await writeFile(join(project.folder, 'typed.ts'), typed)
      const compile = `${folder}/node_modules/.bin/tsc ${options} --typeRoots ${folder}/node_modules/@types`
      expect(await project.run(`${compile} --skipLibCheck false`)).toEqual({ code: 0, stdout: '', stderr: '' })
    })
  })
})
