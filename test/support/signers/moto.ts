import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { vi } from 'vitest'
import { packageRoot } from '../../../core/package-root.js'
import { freePort } from '../free-port.js'
import { recipes } from '../services/recipes.js'

export interface Moto extends AsyncDisposable {
  readonly endpoint: string
}

/** Starts moto, a KMS by other people. It needs the service `moto recipe`. */
export const startMoto = async (): Promise<Moto> => {
  const port = await freePort()
  const program = join(packageRoot, 'test/support/signers/moto-server.py')
  const server = spawn(join(recipes.moto.folder, 'venv/bin/python'), [program, '-H', '127.0.0.1', '-p', String(port)], {
    stdio: 'ignore',
  })
  const endpoint = `http://127.0.0.1:${String(port)}`
  await vi.waitFor(() => fetch(endpoint), { timeout: 50_000 })
  return {
    endpoint,
    async [Symbol.asyncDispose]() {
      server.kill('SIGKILL')
      await once(server, 'close')
    },
  }
}
