import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'

export interface Replica {
  readonly name: string
  readonly port: number
  readonly adminPort: number
}

export interface Balancing {
  /** Where clients come. */
  readonly port: number
  readonly replicas: readonly [Replica, Replica]
  /** Of the admin listener of each replica. */
  readonly adminToken: string
}

export const haproxyFile = join(packageRoot, 'deploy', 'haproxy.cfg')

/** What `deploy/haproxy.cfg` reads of its environment. */
export const haproxyEnvironment = ({ port, replicas: [one, two], adminToken }: Balancing): NodeJS.ProcessEnv => ({
  ...process.env,
  ADMIN_TOKEN: adminToken,
  SIGNET_BIND: `127.0.0.1:${port}`,
  SIGNET_1: `127.0.0.1:${one.port}`,
  SIGNET_1_ADMIN_PORT: String(one.adminPort),
  SIGNET_2: `127.0.0.1:${two.port}`,
  SIGNET_2_ADMIN_PORT: String(two.adminPort),
})

/** `deploy/haproxy.cfg` in front of two replicas; disposing of it ends it. */
export const startHaproxy = (program: string, balancing: Balancing): AsyncDisposable => {
  const env = haproxyEnvironment(balancing)
  const child = spawn(program, ['-db', '-f', haproxyFile], { env, stdio: 'ignore' })
  const closed = once(child, 'close')
  return {
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await closed
    },
  }
}

/** Whether requests for tokens reach the replica: it has issued one since it was started. */
export const hasIssued = async ({ adminPort }: Replica, adminToken: string): Promise<boolean> => {
  const headers = { authorization: `Bearer ${adminToken}` }
  const metrics = await fetch(`http://127.0.0.1:${adminPort}/metrics`, { headers })
  return (await metrics.text()).includes('\nsignet_tokens_issued_total{')
}
