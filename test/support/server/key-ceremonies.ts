import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from './command-line.js'

/** The two people of these ceremonies, as their file names them, and what they type. */
export const ada = 'Ada Lovelace'
export const grace = 'Grace Hopper'
export const people = `present:
  - { name: ${ada}, role: security officer }
  - { name: ${grace}, role: witness }
`
export const both = `${ada}\n${grace}\n`
export const auditKey = '{ kid: au-1, alg: EdDSA, signer: local, ref: au-1, purposes: [audit] }'
export const slot = '{ slot: es, alg: ES256, signer: local, rotate: { by: ceremony } }'

const env = { AWS_ACCESS_KEY_ID: 'AKIADOUBLE', AWS_SECRET_ACCESS_KEY: 'the double does not look at it' }

export const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex')

/** A deployment of its own for each test of a file, in which ceremonies are held by the command. */
export const useCeremonies = () => {
  let cli: CommandLine
  beforeEach(async () => {
    cli = await openCommandLine()
  })
  afterEach(() => cli[Symbol.asyncDispose]())
  const inFolder = (...parts: string[]) => join(cli.folder, ...parts)
  const read = (...parts: string[]) => readFileSync(inFolder(...parts), 'utf8')
  return {
    get cli() {
      return cli
    },
    inFolder,
    read,
    readTranscript: (folder: string) => JSON.parse(read(folder, 'transcript.json')),
    auditLines: () =>
      read('data/audit.jsonl')
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    localKeys: () => readdirSync(inFolder('data/keys')).toSorted(),
    /** `entries` of `keys` beside the fixed one, and more signers in YAML. */
    async deploy(entries: readonly string[], signers = ''): Promise<void> {
      const keys = entries.map((entry) => `  - ${entry}\n`).join('')
      const file = configuration()
        .replace(/^keys:\n.*\n/m, (fixed) => `${fixed}${keys}`)
        .replace(/^signers:$/m, `$&${signers}`)
      await cli.write('signet.yaml', file)
      expect(await cli.run(['migrate', '--config', 'signet.yaml'])).toMatchObject({ code: 0, stderr: '' })
    },
    async hold(file: string, input = both, ...options: string[]) {
      await cli.write('ceremony.yaml', file)
      return cli.run(['keys', 'ceremony', 'ceremony.yaml', '--config', 'signet.yaml', ...options], { input, env })
    },
    verify: (folder: string, ...options: string[]) => cli.run(['keys', 'ceremony', 'verify', folder, ...options]),
  }
}
