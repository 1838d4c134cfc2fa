import { request } from 'node:http'
import { isIP } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { isSocketPath } from '../../../config/fields.js'
import { AdminProblem, createClient, type Answer } from '../../../libraries/admin/client.js'
import type { Refusal } from '../../administration/administration.js'
import { CommandFailed } from '../failure.js'
import { operations, type Operations } from './operations.js'

/** A running service, as commands with `--admin` use it. */
export type Service = Operations

/** Longer than the service itself takes for any request. */
const deadline = 60_000

/** `fetch` over the socket of a service on this host. */
const fetchOver =
  (socketPath: string): typeof fetch =>
  async (input, { method = 'GET', headers, body, signal } = {}) => {
    const { pathname, search } = new URL(input instanceof Request ? input.url : input)
    const sent = typeof body === 'string' ? body : undefined
    return new Promise((resolve, reject) => {
      const asked = request(
        {
          ...{ socketPath, path: `${pathname}${search}`, method },
          headers: {
            ...Object.fromEntries(new Headers(headers)),
            ...(sent !== undefined && { 'Content-Length': Buffer.byteLength(sent) }),
          },
          ...(signal && { signal }),
        },
        (response) => {
          const { statusCode: status = 0, headers: received } = response
          const answered = Object.entries(received).map(([name, value]): [string, string] => [name, String(value)])
          buffer(response)
            .then((content) =>
              resolve(new Response(content.length === 0 ? null : content.toString(), { status, headers: answered })),
            )
            .catch(reject)
        },
      )
      asked.once('error', reject)
      asked.end(sent)
    })
  }

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))

/** Returns the address of a service. Throws `CommandFailed` for one to which a token must not be sent. */
const readAddress = (written: string): string => {
  const url = URL.canParse(written) ? new URL(written) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol))
    throw new CommandFailed('--admin is the https URL of an admin listener, or the path of its socket.')
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '')
    throw new CommandFailed('The URL of --admin has no name, password, query or fragment.')
  // Anyone on the way could read the token.
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new CommandFailed('The URL of --admin is https, except on this host.')
  return url.href
}

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  // The error of `fetch` says only that it failed; its cause says why.
  return error.cause instanceof Error ? causeOf(error.cause) : error.message || error.name
}

/** Connects to the service at a URL or a socket. Throws `CommandFailed`. */
export const connectTo = (admin: string, env: NodeJS.ProcessEnv = process.env): Service => {
  const isSocket = isSocketPath(admin)
  const url = isSocket ? 'http://localhost' : readAddress(admin)
  const token = env['SIGNET_OPERATOR_TOKEN']?.trim() ?? ''
  if (token === '' && !isSocket)
    throw new CommandFailed('Put the token of an operator into the environment variable SIGNET_OPERATOR_TOKEN.')
  const send = isSocket ? fetchOver(admin) : globalThis.fetch
  return createClient<Service>(operations, {
    url,
    ...(token !== '' && { token }),
    signal: () => AbortSignal.timeout(deadline),
    fetch: async (input, init) => {
      try {
        return await send(input, init)
      } catch (error) {
        throw new CommandFailed(`The service at ${admin} does not answer: ${causeOf(error)}`)
      }
    },
  })
}

const failureOf = ({ status, code, message, errors, requestId }: AdminProblem): CommandFailed => {
  if (code === 'unknown_answer')
    return new CommandFailed(`The address is not one of an admin API: it answered with status ${String(status)}.`)
  const faults = errors.map((fault) => `\n${fault.path}: ${fault.message}`).join('')
  const where = status >= 500 && requestId !== undefined ? ` (request ${requestId})` : ''
  return new CommandFailed(`${message}${where}${faults}`)
}

/** Returns an answer. Throws `CommandFailed` for a refusal. */
export const answerOf = async <Data>(answer: Promise<Answer<Data>>): Promise<Answer<Data>> => {
  try {
    return await answer
  } catch (error) {
    throw error instanceof AdminProblem ? failureOf(error) : error
  }
}

/** Returns the data of an answer. Throws `CommandFailed` for a refusal. */
export const dataOf = async <Data>(answer: Promise<Answer<Data>>): Promise<Data> => (await answerOf(answer)).data

/**
 * Returns the data of an answer, or the refusal if its cause is one of `known`, so that a command says the same as on
 * the stores. Throws `CommandFailed` for any other refusal.
 */
export const dataOrRefusal = async <Data, Why extends string>(
  answer: Promise<Answer<Data>>,
  ...known: readonly Why[]
): Promise<Data | Refusal<Why>> => {
  try {
    return (await answer).data
  } catch (error) {
    if (!(error instanceof AdminProblem)) throw error
    const refused = known.find((one) => one === error.code)
    if (refused === undefined) throw failureOf(error)
    return { refused, reason: error.message }
  }
}

/** Reads all pages of a list. Throws `CommandFailed`. */
export const allOf = async <Item>(
  list: (query: {
    readonly limit: number
    readonly cursor?: string
  }) => Promise<Answer<{ readonly items: readonly Item[]; readonly next_cursor?: string | undefined }>>,
): Promise<readonly Item[]> => {
  const all: Item[] = []
  let cursor: string | undefined
  do {
    const page = await dataOf(list({ limit: 200, ...(cursor !== undefined && { cursor }) }))
    all.push(...page.items)
    cursor = page.next_cursor
  } while (cursor !== undefined)
  return all
}
