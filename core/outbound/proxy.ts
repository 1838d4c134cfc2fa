import type { ClientRequest } from 'node:http'
import type { AgentOptions } from 'node:https'
import type { Socket } from 'node:net'
import { HttpsProxyAgent } from 'https-proxy-agent'
import { getProxyForUrl } from 'proxy-from-env'
import { isLoopbackHost } from './private-address.js'

/** Why the proxy variables of the environment cannot be used, or undefined if they can or there are none. */
export const findProxyFault = (env: NodeJS.ProcessEnv): string | undefined => {
  for (const name of ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY']) {
    const value = env[name] ?? ''
    if (value !== '' && !(URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)))
      return `the environment variable ${name} must be the URL of an HTTP proxy: http://proxy.example:3128`
  }
  return undefined
}

type Connect = Parameters<HttpsProxyAgent<string>['connect']>

/** Limits the time that an unresponsive proxy can hold a connection. */
class DeadlineProxyAgent extends HttpsProxyAgent<string> {
  readonly #deadlineMs: number

  constructor(proxy: string, deadlineMs: number, options: AgentOptions) {
    super(proxy, options)
    this.#deadlineMs = deadlineMs
  }

  override async connect(request: ClientRequest, options: Connect[1]): Promise<Socket> {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), this.#deadlineMs)
    // The library reads this before it waits for anything.
    this.connectOpts = { ...this.connectOpts, signal: late.signal }
    try {
      return await super.connect(request, options)
    } finally {
      clearTimeout(timer)
    }
  }
}

/**
 * An agent for https that tunnels through the proxy of `HTTPS_PROXY` or `ALL_PROXY` (RFC 9110 §9.3.6), in upper or
 * lower case. A tunnel that is not open after `deadlineMs` fails. Undefined when the environment names no proxy for
 * `url`, `NO_PROXY` excludes it, or it is this machine.
 */
export const createProxyAgent = (
  url: string,
  deadlineMs: number,
  options: AgentOptions = {},
): HttpsProxyAgent<string> | undefined => {
  const { protocol, hostname } = new URL(url)
  const proxy = protocol === 'https:' && !isLoopbackHost(hostname) ? getProxyForUrl(url) : ''
  return proxy === '' ? undefined : new DeadlineProxyAgent(proxy, deadlineMs, options)
}
