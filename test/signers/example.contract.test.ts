import { generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { SignerModule } from '../../core/api/signer.js'
import { algorithms, allAlgorithms, keyTypes } from '../../core/jose/algorithms.js'
import { packageRoot } from '../../core/package-root.js'
import { signerServices } from '../support/signers/services.js'
import { readDocument } from '../support/document.js'
import { signerContract } from '../support/signers/signer-contract.js'

type Options = { readonly directory: string; readonly passphrase: string }

/** The suite runs from source, and `signet-idp/signer` is to be the same copy. */
const loadExample = async (folder: string): Promise<SignerModule<Options>> => {
  const door = JSON.stringify(join(packageRoot, 'core', 'api', 'signer.ts'))
  const code = readDocument('examples/signer/encrypted-files.js').replace("from 'signet-idp/signer'", `from ${door}`)
  await symlink(join(packageRoot, 'node_modules'), join(folder, 'node_modules'))
  await writeFile(join(folder, 'encrypted-files.js'), code)
  const loaded = (await import(pathToFileURL(join(folder, 'encrypted-files.js')).href)) as { default: SignerModule }
  return loaded.default as SignerModule<Options>
}

signerContract('the one of examples/signer', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-documented-'))
  const passphrase = 'a passphrase for this test'
  for (const alg of allAlgorithms) {
    const { type, namedCurve } = keyTypes[algorithms[alg].keyType].node
    const encoding = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const
    const generate = generateKeyPairSync as (type: string, options: object) => ReturnType<typeof generateKeyPairSync>
    const { privateKey } = generate(type, { modulusLength: 2048, namedCurve })
    await writeFile(join(directory, `key-${alg}.pem`), privateKey.export(encoding))
  }
  const module = await loadExample(directory)
  const provider = await module.create({ directory, passphrase }, signerServices)
  return {
    provider,
    ref: async (alg) => `key-${alg}`,
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
})
