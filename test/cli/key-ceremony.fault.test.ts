/** A ceremony whose process is killed at every call of its backend, and the one that continues it. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

/** `signers/local`, whose process is killed at one of the points before and after each call. */
const dying = `
import local from '${join(packageRoot, 'dist/signers/local/index.js')}'
let point = 0
const step = () => {
  if (String(point++) === process.env.KILL_AT) process.kill(process.pid, 'SIGKILL')
}
const around = (work) => async (...args) => {
  step()
  const result = await work(...args)
  step()
  return result
}
export default {
  ...local,
  create(options, services) {
    const provider = local.create(options, services)
    return {
      ...provider,
      find: around(provider.find),
      create: around(provider.create),
      facts: around(provider.facts),
      open: async (...args) => {
        step()
        const signer = await provider.open(...args)
        return { ...signer, sign: around(signer.sign) }
      },
    }
  },
}
`
/** The lease of a killed process ends after two minutes. */
const later = `--import data:text/javascript,${encodeURIComponent(
  'const now = Date.now; Date.now = () => now() + 180_000',
)}`
const people = 'present: [{ name: Ada Lovelace, role: security officer }]\n'

/**
 * Points of a whole ceremony: the look for the name 0 and 1, the facts 2 and 3, the name again 4 and 5, the making 6 and
 * 7, the opening 8, ten signatures 9 to 28. Those of signatures between the first and the last are alike.
 */
const last = 28
const subjects = [
  ['a slot', 'slot: es', 'signet-es-1', 'es-1', [1, 3, 4, 5, 6, 7, 8, 9, last]],
  ['a fixed key', 'kid: fixed\nalg: ES256', 'fixed', 'fixed', [5, 7, last]],
] as const

it.each(subjects)(
  'KR47 %s: killed at any point, it is continued with the same key',
  async (...subject) => {
    const [, lines, ref, kid, points] = subject
    const keys = `  - { kid: au-1, alg: EdDSA, signer: auditors, ref: au-1, purposes: [audit] }
  - { slot: es, alg: ES256, signer: local, rotate: { by: ceremony } }
`
    const base = configuration().replace(
      /^keys:\n.*\n/m,
      (fixed) => `${fixed.replace('signer: local', 'signer: auditors')}${keys}`,
    )
    await cli.write('dying.mjs', dying)
    await cli.write('ceremony.yaml', `signer: local\n${lines}\n${people}`)
    for (const at of [...points, last + 1]) {
      const name = `at-${String(at)}`
      const file = `${name}.yaml`
      const signers = `signers:
  auditors: { use: signers/local, options: { directory: ./auditors, create: true } }
  local: { use: ./dying.mjs, options: { directory: ./${name}/keys } }
storage: { records: { use: stores/embedded, options: { path: ./${name}/store } }, ephemeral: { use: stores/embedded, options: { path: ./${name}/store } } }
audit: { file: ./${name}/audit.jsonl }
`
      await cli.write(file, base.replace(/^signers:\n.*\n/m, signers))
      expect(await cli.run(['migrate', '--config', file])).toMatchObject({ code: 0, stderr: '' })
      const hold = (env: NodeJS.ProcessEnv) =>
        cli.run(['keys', 'ceremony', 'ceremony.yaml', '--config', file, '--out', `${name}-out`], {
          ...{ input: 'Ada Lovelace\n', env, alone: true },
        })
      const first = await hold({ KILL_AT: String(at) })
      const out = join(cli.folder, `${name}-out`)
      if (at > last) {
        expect(first, 'there is no later point').toMatchObject({ code: 0 })
        break
      }
      expect(first.code, first.stderr).toBeNull()
      // Nothing is used that has no transcript.
      expect(existsSync(out) ? readdirSync(out) : []).toEqual([])
      const next = await hold({ NODE_OPTIONS: later })
      expect(next, `killed at ${String(at)}`).toMatchObject({ code: 0 })
      expect(readdirSync(join(cli.folder, name, 'keys'))).toEqual([ref])
      expect(JSON.parse(readFileSync(join(out, 'transcript.json'), 'utf8'))).toMatchObject({
        key: { kid },
        made: { ref },
      })
      expect(await cli.run(['keys', 'ceremony', 'verify', `${name}-out`])).toMatchObject({ code: 0 })
      if (kid === 'es-1')
        expect(await cli.run(['keys', 'strays', '--config', file])).toMatchObject({ stdout: 'No strays.\n' })
    }
  },
  180_000,
)
