import type { AdminDeclaration } from '../endpoints/admin/admin-endpoint.js'
import type { EndpointRequest, Handler, Reply } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import { Unavailable } from '../unavailable.js'
import { askWorker, type WorkerAnswer, type WorkerQuestion } from './ask-worker.js'
import type { WorkerPool } from './worker-pool.js'

const deadlineMs = 3000

const formType = 'application/x-www-form-urlencoded'

/** Headers of a request by which a worker finds out who the operator is and what the browser may do. */
const passedOn = [
  'accept',
  'accept-language',
  'authorization',
  'cookie',
  'host',
  'idempotency-key',
  'if-match',
  'origin',
  'sec-fetch-site',
]

const passedBack = [
  'cache-control',
  'content-disposition',
  'content-language',
  'content-security-policy',
  'content-type',
  'etag',
  'location',
  'pragma',
  'retry-after',
  'vary',
  'www-authenticate',
]

/** Returns the headers that identify the sender to the worker; the answerer of a hand-off was admitted here. */
const senderHeaders = ({ permission }: AdminDeclaration, request: EndpointRequest): Record<string, string> => {
  if (permission === 'handoff.answer') return {}
  const sent = passedOn.flatMap((name) => {
    const value = request.header(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return {
    ...Object.fromEntries(sent),
    ...certificateHeaders(request),
    ...(request.address !== 'unix' && { 'x-forwarded-for': request.address }),
  }
}

/** The certificate of the connection (RFC 9440 §2). */
const certificateHeaders = (request: EndpointRequest): Record<string, string> => {
  const certificate = request.clientCertificate()
  if (certificate === undefined) return {}
  const sequence = (bytes: Buffer) => `:${bytes.toString('base64')}:`
  const chain = certificate.chain.map(sequence).join(', ')
  return { 'client-cert': sequence(certificate.raw), ...(chain !== '' && { 'client-cert-chain': chain }) }
}

const question = (declaration: AdminDeclaration, request: EndpointRequest): WorkerQuestion => {
  const { path, form, query, body } = request
  const asked = declaration.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path.get(name) ?? ''))
  const search = new URLSearchParams([...query.values]).toString()
  const url = {
    path: search === '' ? asked : `${asked}?${search}`,
    method: declaration.methods[0],
    headers: senderHeaders(declaration, request),
  }
  if (declaration.body === 'none') return url
  const text =
    declaration.body === 'json' ? (body?.toString('utf8') ?? '') : new URLSearchParams([...form.values]).toString()
  return { ...url, body: { type: declaration.body === 'json' ? 'application/json' : formType, text } }
}

const replyOf = ({ status, body, headers = {} }: WorkerAnswer): Reply => {
  const kept = passedBack.flatMap((name) => {
    const value = headers[name]
    return typeof value === 'string' ? [[name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase()), value]] : []
  })
  const cookies = headers['set-cookie']
  return { status, headers: Object.fromEntries(kept) as Reply['headers'], body, ...(cookies && { cookies }) }
}

/**
 * Lets any worker answer, because all use the same stores. Repeated parameters are refused here, as the worker would
 * do.
 */
export const createForwarder =
  (pool: Pick<WorkerPool, 'sockets' | 'running'>) =>
  (declaration: AdminDeclaration): Handler =>
  async (request) => {
    if (request.query.repeated.size > 0 || request.form.repeated.size > 0)
      throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
    const [worker] = pool.running()
    const socket = worker === undefined ? undefined : pool.sockets.get(worker)
    if (socket === undefined) throw new Unavailable('workers', 'no', 'No worker is running')
    const asked = askWorker(socket, question(declaration, request), AbortSignal.timeout(deadlineMs))
    const answer = await asked.catch((cause: unknown) => {
      throw new Unavailable('workers', 'unknown', 'the worker is not responding', { cause })
    })
    return replyOf(answer)
  }
