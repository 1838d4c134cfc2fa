import { execFile } from 'node:child_process'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { SoftToken } from '../softhsm/token.js'

const run = promisify(execFile)
const source = fileURLToPath(new URL('double.c', import.meta.url))
/** Where the headers of PKCS#11 are that pkcs11js, which is optional, is compiled with. */
const headers = (): string => join(dirname(createRequire(import.meta.url).resolve('pkcs11js')), 'includes', 'pkcs11')

/** A token behind a library that fails on command. */
export interface DoubledToken {
  readonly module: string
  readonly label: string
  readonly pin: string
  readonly environment: Readonly<Record<string, string>>
  /** `FUNCTION ACTION [ARGUMENT] [once]`, see double.c. */
  command(line: string): Promise<void>
  heal(): Promise<void>
  /** How often a function was called, by all processes together. */
  calls(name: string): Promise<number>
}

/** Compiles the double beside the token and puts it in front of it. */
export const doubleOf = async (token: SoftToken): Promise<DoubledToken> => {
  const module = join(token.directory, 'double.so')
  const control = join(token.directory, 'control')
  const log = join(token.directory, 'calls')
  await run('gcc', ['-shared', '-fPIC', '-O1', '-Wall', '-Werror', '-I', headers(), '-o', module, source])
  await writeFile(log, '')
  return {
    module,
    label: token.label,
    pin: token.pin,
    environment: { ...token.environment, DOUBLE_LIBRARY: token.module, DOUBLE_CONTROL: control, DOUBLE_LOG: log },
    async command(line) {
      await writeFile(`${control}.new`, line)
      await rename(`${control}.new`, control)
    },
    heal: () => rm(control, { force: true }),
    async calls(name) {
      return (await readFile(log, 'utf8')).split('\n').filter((line) => line === name).length
    },
  }
}
