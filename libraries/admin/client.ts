/** One operation of the API, as the generated table has it. */
export interface Operation {
  readonly method: string
  /** Below the address of the API; `{name}` stands for one member of the input. */
  readonly path: string
}

/** The input of an operation; each operation names the members that it reads. */
export type OperationInput = Readonly<Record<string, unknown>> & {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  /** The `etag` of the object as it was read. */
  readonly ifMatch?: string
  /** A repetition with the same key gets the first answer for 24 hours. */
  readonly idempotencyKey?: string
}

/** An answer of the API. `etag` is the version of the object, for `ifMatch`. */
export interface Answer<Data> {
  readonly data: Data
  readonly status: number
  readonly etag?: string
  /** The path of what was created. */
  readonly location?: string
}

/** A fault of one member of a request. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** A refusal of the API (RFC 9457). Programs look at `code`; `message` is a sentence for people. */
export class AdminProblem extends Error {
  override readonly name = 'AdminProblem'
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  readonly errors: readonly Fault[]

  constructor(
    status: number,
    {
      detail,
      code,
      request_id,
      errors,
    }: { detail?: string; code?: string; request_id?: string; errors?: readonly Fault[] },
  ) {
    super(detail ?? `The request was refused with status ${String(status)}.`)
    this.status = status
    this.code = code ?? 'unknown_answer'
    this.requestId = request_id
    this.errors = errors ?? []
  }
}

export interface AdminClientOptions {
  /** The address of the admin listener, with the path that a proxy puts before it: `https://admin.idp.example`. */
  readonly url: string
  /** A token of `signet operators issue`. Absent: `fetch` authenticates in another way. */
  readonly token?: string
  /** The default is that of the platform. */
  readonly fetch?: typeof globalThis.fetch
  /** Aborts each request. The default is none. */
  readonly signal?: () => AbortSignal
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const urlOf = (base: string, { path }: Operation, input: OperationInput): string => {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(input[name])))
  const query = Object.entries(input.query ?? {}).flatMap(([name, value]): readonly [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  )
  const search = query.length === 0 ? '' : `?${new URLSearchParams(query).toString()}`
  return `${base.replace(/\/$/, '')}/api/v1${filled}${search}`
}

/**
 * Creates a client with a function for each operation. It repeats no request: what fails throws `AdminProblem` for a
 * refusal, or the error of `fetch`.
 */
export const createClient = <Client>(
  operations: Readonly<Record<string, Operation>>,
  { url, token, fetch = globalThis.fetch, signal }: AdminClientOptions,
): Client => {
  const call =
    (operation: Operation) =>
    async (input: OperationInput = {}): Promise<Answer<unknown>> => {
      const { body, ifMatch, idempotencyKey } = input
      const response = await fetch(urlOf(url, operation, input), {
        method: operation.method,
        headers: {
          Accept: 'application/json, application/problem+json',
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...(ifMatch !== undefined && { 'If-Match': ifMatch }),
          ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        ...(signal && { signal: signal() }),
        // A redirect would send the token to wherever it leads.
        redirect: 'error',
      })
      const { status, headers } = response
      const data = parse(await response.text())
      if (!response.ok) throw new AdminProblem(status, data ?? {})
      const [etag, location] = [headers.get('etag'), headers.get('location')]
      return { data, status, ...(etag !== null && { etag }), ...(location !== null && { location }) }
    }
  return Object.fromEntries(Object.entries(operations).map(([name, operation]) => [name, call(operation)])) as Client
}
