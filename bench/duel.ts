import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JwsAlg } from '../core/jose/jwk.js'
import { makeToken, openProvider, type SoftToken } from '../test/support/signers/softhsm/token.js'
import type { ServiceName } from '../test/support/services/table.js'
import type { Case } from './case.js'
import { compete, measure, type Duel, type Options } from './compete.js'
import type { Contestant, Setting } from './contestant.js'
import type { Load } from './load.js'
import { measureBare } from './bare.js'
import { startPeer } from './peer.js'
import { profileTable } from './profile.js'
import { startSignet } from './signet.js'
import { startStores, type BenchStores } from '../test/support/peer/stores.js'

const newKey = (alg: JwsAlg) => {
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (alg === 'ES384') return generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}

const tokenWithKey = async (alg: JwsAlg): Promise<SoftToken> => {
  const token = await makeToken()
  await using provider = await openProvider(token)
  await provider.create?.('bench', alg, AbortSignal.timeout(20_000))
  return token
}

const startToken = ({ alg, keysIn }: Case): Promise<SoftToken | undefined> =>
  keysIn === 'softhsm' ? tokenWithKey(alg) : Promise.resolve(undefined)

/** Lists the services that a case needs. */
export const servicesOf = ({ keysIn, stores }: Case): readonly ServiceName[] => [
  ...(keysIn === 'softhsm' ? (['softhsm2'] as const) : []),
  ...(stores ? (['mongodb', 'redis'] as const) : []),
]

const settingOf = (
  { alg, registry, certificates }: Case,
  logLevel: string,
  token: SoftToken | undefined,
  stores: BenchStores | undefined,
): Setting => ({
  alg,
  privateKey: newKey(alg),
  logLevel,
  ...(registry && { registry }),
  ...(certificates && { certificates }),
  ...(token && { token }),
  ...(stores && { stores }),
})

/** Starts new processes for each case, so that no case inherits another's memory or compiled code. */
export const duel = async (entry: Case, load: Load, options: Options, logLevel: string): Promise<Duel> => {
  await using token = await startToken(entry)
  await using stores = entry.stores && (await startStores())
  const setting = settingOf(entry, logLevel, token, stores)
  await using signet: Contestant = await startSignet(setting)
  if (entry.alone) {
    const figures = { name: entry.name, target: entry.target, signet: await measure(entry, signet, load, options) }
    return entry.bare ? { ...figures, bare: await measureBare(entry.bare, options.seconds) } : figures
  }
  await using peer: Contestant = await startPeer(setting)
  return await compete(entry, [signet, peer], load, options)
}

/** Runs separately, because profiling takes time. */
export const profile = async (entry: Case, load: Load, options: Options, logLevel: string): Promise<string> => {
  const profileDirectory = mkdtempSync(join(tmpdir(), 'signet-profile-'))
  try {
    {
      await using token = await startToken(entry)
      await using stores = entry.stores && (await startStores())
      const setting = settingOf(entry, logLevel, token, stores)
      await using signet: Contestant = await startSignet({ ...setting, profileDirectory })
      await measure(entry, signet, load, options)
    }
    return profileTable(profileDirectory, options.seconds)
  } finally {
    rmSync(profileDirectory, { recursive: true })
  }
}
