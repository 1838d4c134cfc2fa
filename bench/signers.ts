import { spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { JwsAlg, SignerProvider } from '../core/api/signer.js'
import { allAlgorithms } from '../core/jose/algorithms.js'
import local from '../signers/local/index.js'
import { signerServices } from '../test/support/signers/services.js'
import { findService, howToGet } from '../test/support/services/table.js'
import { makeToken, openProvider, type SoftToken } from '../test/support/signers/softhsm/token.js'
import { startKms } from './kms.js'
import { measureSigning, type SigningFigures } from './signing-load.js'

export interface SignerRow extends SigningFigures {
  readonly backend: string
  readonly alg: JwsAlg
  /** The backend's library in one thread of a separate process, without a service. */
  readonly libraryPerSecond?: number
}

const never = new AbortController().signal

/** The library alone, in a separate process. */
const raw = (token: SoftToken, label: string, alg: JwsAlg, seconds: number): number => {
  const file = fileURLToPath(new URL('pkcs11-raw.cjs', import.meta.url))
  const run = spawnSync(process.execPath, [file, token.module, token.label, label, alg, String(seconds)], {
    encoding: 'utf8',
    input: token.pin,
    env: { ...process.env, ...token.environment },
  })
  if (run.status !== 0) throw new Error(run.stderr)
  return Number(run.stdout)
}

interface Backend {
  readonly name: string
  readonly provider: SignerProvider
  readonly callers: number
  readonly library?: (label: string, alg: JwsAlg, seconds: number) => number
}

const measureAll = async (backend: Backend, seconds: number): Promise<readonly SignerRow[]> => {
  const rows: SignerRow[] = []
  for (const alg of allAlgorithms) {
    const label = `bench-${alg}`
    process.stderr.write(`${backend.name} ${alg} …\n`)
    const ref = (await backend.provider.create?.(label, alg, never)) ?? ''
    const signer = await backend.provider.open(ref, alg, never)
    const figures = await measureSigning(signer, backend.callers, seconds * 1000)
    const libraryPerSecond = backend.library?.(label, alg, seconds)
    rows.push({ backend: backend.name, alg, ...figures, ...(libraryPerSecond && { libraryPerSecond }) })
  }
  return rows
}

const measureLocal = async (seconds: number): Promise<readonly SignerRow[]> => {
  const directory = await mkdtemp(join(tmpdir(), 'signet-bench-'))
  try {
    const provider = await local.create({ directory, create: false }, signerServices)
    return await measureAll({ name: 'local', provider, callers: 64 }, seconds)
  } finally {
    await rm(directory, { recursive: true })
  }
}

const measureSoftHsm = async (seconds: number): Promise<readonly SignerRow[]> => {
  if (findService('softhsm2') === undefined) {
    process.stderr.write(`Not measured: ${howToGet('softhsm2')}\n`)
    return []
  }
  await using token = await makeToken()
  await using provider = await openProvider(token, { sessions: 4 })
  const library = (...args: [string, JwsAlg, number]): number => raw(token, ...args)
  return await measureAll({ name: 'SoftHSM', provider, callers: 256, library }, seconds)
}

/** The double is another process, which uses part of the cores. */
const measureKms = async (seconds: number): Promise<readonly SignerRow[]> => {
  await using kms = await startKms('0,1', 'quick')
  return await measureAll({ name: 'KMS double', provider: kms.provider, callers: 64 }, seconds)
}

/** Measures every backend with every algorithm, on all cores. */
export const measureSigners = async (seconds: number): Promise<readonly SignerRow[]> => [
  ...(await measureLocal(seconds)),
  ...(await measureSoftHsm(seconds)),
  ...(await measureKms(seconds)),
]
