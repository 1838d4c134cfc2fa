import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'

/** The least that is a configuration; `extra` is appended as YAML. */
export const minimal = (extra = ''): string => `issuer: http://localhost:3000
scopes_supported: [openid, profile, email, offline_access]
id_token_signing_alg: ES256
signers: { local: { use: signers/local, options: { directory: ./keys } } }
keys: [{ kid: a, alg: ES256, signer: local, ref: a.pem }, { kid: r, alg: RS256, signer: local, ref: r.pem }]
${extra}`

/** All plugins that a code flow needs. */
export const plugins = `plugins:
  - use: plugins/grants/authorization-code
  - use: plugins/grants/refresh-token
  - use: plugins/grants/client-credentials
  - use: plugins/client-auth/none
  - use: plugins/client-auth/client-secret
  - use: plugins/login/password
`

/** A folder with these files, for the length of the test. Returns its path. */
export const folderWith = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'signet-config-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

/** The path of a configuration with this text. */
export const configWith = async (text: string): Promise<string> =>
  join(await folderWith({ 'signet.yaml': text }), 'signet.yaml')
