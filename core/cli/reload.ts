import { X509Certificate } from 'node:crypto'
import { request } from 'node:http'
import { request as tlsRequest, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { isSocketPath } from '../../config/fields.js'
import { formatProblem, type Problem } from '../../config/problems.js'
import { readConfig } from '../../config/load.js'
import { actedHere, writeActedBy } from '../observe/acted-by.js'
import { reloadDeadlines } from '../workers/ask-worker.js'
import type { DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson, printYaml } from './output.js'

export interface ReloadOptions extends DeploymentOptions {
  readonly force?: true
  readonly json?: true
}

interface Answer {
  readonly status: number
  readonly body: {
    readonly status?: string
    readonly changes?: unknown
    readonly forced?: readonly Problem[]
    readonly warnings?: readonly Problem[]
    readonly problems?: readonly Problem[]
    /** The workers that have the new configuration, when others do not have it. */
    readonly reloaded?: readonly number[]
    readonly not_reloaded?: readonly number[]
    readonly error_description?: string
  }
}

/** Implements `signet reload`, which asks the running service, through its admin listener, to reload its file. */
export const reload = async (options: ReloadOptions): Promise<void> => {
  const { salvaged } = await readConfig(options.config, process.env)
  const { host = '127.0.0.1', port = 3001, token, tls } = salvaged.admin ?? {}
  const target = isSocketPath(host) ? { socketPath: host } : { host, port }
  const { status, body } = await ask(
    { ...target, ...(tls?.cert !== undefined && pinned(tls.cert)) },
    token?.reveal(),
    options.force === true,
  )
  if (options.json && (status === 200 || body.problems !== undefined)) {
    if (status !== 200) process.exitCode = 1
    return printJson({ status: 'refused', ...body })
  }
  if (status === 200) {
    print(body.status === 'unchanged' ? 'Configuration unchanged.' : 'Reloaded.')
    if (body.changes !== undefined) printYaml(body.changes)
    for (const problem of [...(body.forced ?? []), ...(body.warnings ?? [])])
      printError(`warning: ${formatProblem(problem)}`)
    return
  }
  for (const problem of body.problems ?? []) print(formatProblem(problem))
  if (body.problems === undefined)
    throw new CommandFailed(body.error_description ?? `The admin listener answered ${String(status)}.`)
  const { reloaded, not_reloaded: others } = body
  printError(
    reloaded === undefined || others === undefined
      ? 'Nothing has changed.'
      : `Some workers have the new configuration (${reloaded.join(', ')}), some do not (${others.join(', ')}). Reload again.`,
  )
  process.exitCode = 1
}

/**
 * The service must present exactly the certificate that the configuration names. Its issuer and its names are not
 * checked.
 */
const pinned = (cert: string): RequestOptions => {
  const { raw } = new X509Certificate(cert)
  return {
    ca: cert,
    allowPartialTrustChain: true,
    checkServerIdentity: (_, peer) =>
      peer.raw.equals(raw)
        ? undefined
        : new Error('it has another certificate than admin.tls.cert: has it been restarted since that changed?'),
  }
}

const ask = async (target: RequestOptions, token: string | undefined, force: boolean): Promise<Answer> => {
  const by = writeActedBy(actedHere('command'))
  const body = new URLSearchParams({ ...(force && { force: 'true' }), ...by }).toString()
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Content-Length': Buffer.byteLength(body),
    ...(token !== undefined && { Authorization: `Bearer ${token}` }),
  }
  const signal = AbortSignal.timeout(reloadDeadlines.caller)
  return new Promise((resolve, reject) => {
    const send = target.ca === undefined ? request : tlsRequest
    const asked = send({ ...target, path: '/reload', method: 'POST', headers, signal }, (response) => {
      text(response)
        .then((answer) => resolve({ status: response.statusCode ?? 0, body: JSON.parse(answer) as Answer['body'] }))
        .catch(reject)
    })
    asked.once('error', (error) => reject(new CommandFailed(`The admin listener is not responding: ${error.message}`)))
    asked.end(body)
  })
}
