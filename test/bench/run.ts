import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { JwsAlg } from '../../core/keys/ports.js'
import { cases, type Case } from './cases.js'
import type { Contestant, Setting } from './contestant.js'
import { Load } from './load.js'
import { compete, measure, type Duel } from './compete.js'
import { startPeer } from './peer.js'
import { profileTable } from './profile.js'
import { table } from './report.js'
import { startSignet } from './signet.js'
import { makeToken, openProvider, type SoftToken } from '../support/softhsm/token.js'

/**
 * Signet and oidc-provider side by side: each server on the first core, the load generator on the second, in
 * alternating rounds, on loopback. Everything else on the machine disturbs it: let it be quiet.
 */
const { values } = parseArgs({
  options: {
    cases: { type: 'string', default: '' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '32' },
    'log-level': { type: 'string', default: 'info' },
    json: { type: 'string', default: './data/bench.json' },
    profile: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

if (values.help) {
  console.log(`npm run bench -- [--cases NAME,…] [--rounds N] [--seconds N] [--connections N] [--log-level info|warn] [--json FILE] [--profile]
cases (a part of the name will do): ${cases.map((entry) => entry.name).join(', ')}`)
  process.exit(0)
}

const bounded = (name: 'rounds' | 'seconds' | 'connections', max: number): number => {
  const value = Number(values[name])
  if (!Number.isInteger(value) || value < 1 || value > max)
    throw new Error(`--${name} is a whole number from 1 to ${max}`)
  return value
}
const options = {
  rounds: bounded('rounds', 20),
  seconds: bounded('seconds', 60),
  connections: bounded('connections', 512),
}

const wanted = values.cases.split(',').filter(Boolean)
const chosen = cases.filter((entry) => wanted.length === 0 || wanted.some((name) => entry.name.includes(name)))
if (chosen.length === 0) throw new Error(`No case is called ${values.cases}: see --help`)

const newKey = (alg: JwsAlg) => {
  if (alg === 'EdDSA') return generateKeyPairSync('ed25519').privateKey
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  if (alg === 'ES384') return generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
}

const logLevel = values['log-level']

const tokenWithKey = async (alg: JwsAlg): Promise<SoftToken> => {
  const token = await makeToken()
  await using provider = await openProvider(token)
  await provider.create?.('bench', alg, AbortSignal.timeout(20_000))
  return token
}

/** New processes for each case, so that no case inherits another's memory or compiled code. */
const duel = async (entry: Case, load: Load): Promise<Duel> => {
  await using token = entry.keysIn === 'softhsm' ? await tokenWithKey(entry.alg) : undefined
  const setting: Setting = { alg: entry.alg, privateKey: newKey(entry.alg), logLevel, ...(token && { token }) }
  await using signet: Contestant = await startSignet(setting)
  await using peer: Contestant = await startPeer(setting)
  return await compete(entry, [signet, peer], load, options)
}

/** In a run of its own: being profiled costs time. */
const profile = async (entry: Case, load: Load): Promise<string> => {
  const profileDirectory = mkdtempSync(join(tmpdir(), 'signet-profile-'))
  try {
    {
      const setting: Setting = { alg: entry.alg, privateKey: newKey(entry.alg), logLevel, profileDirectory }
      await using signet: Contestant = await startSignet(setting)
      await measure(entry, signet, load, options)
    }
    return profileTable(profileDirectory, options.seconds)
  } finally {
    rmSync(profileDirectory, { recursive: true })
  }
}

await using load = await Load.start()
const duels: Duel[] = []
for (const entry of chosen) {
  process.stderr.write(`${entry.name} …\n`)
  duels.push(await duel(entry, load))
}
console.log(table(duels))

if (values.profile) {
  for (const entry of chosen)
    console.log(`\n${entry.name}: where Signet's main thread spends its time\n${await profile(entry, load)}`)
}

const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length }
mkdirSync(dirname(values.json), { recursive: true })
writeFileSync(values.json, `${JSON.stringify({ machine, options, duels }, null, 2)}\n`)
console.log(`Also in ${values.json}`)
