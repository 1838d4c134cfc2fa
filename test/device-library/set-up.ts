import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { createDevice, memoryStore, type DeviceOptions, type Enrolment } from '../../libraries/device/index.js'
import { decodeJws } from '../support/clients/attestation.js'
import { startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'

export const ttl = 3600
export const reissueAfter = 1800

export let server: AttestationServer
let names = 0

/** Gives the test file a server, whose clock is that of the devices, and its factor and its status provider to each test. */
export const setUpServer = (
  section: Record<string, unknown> = { attestation_ttl_secs: ttl, attestation_reissue_after_secs: reissueAfter },
  plugins: { readonly evidence?: boolean } = {},
): void => {
  beforeAll(async () => {
    server = await startAttestationServer({ section, status: true, ...plugins })
  })
  beforeEach(() => server.double.reset())
  afterAll(() => server[Symbol.asyncDispose]())
}

/** What happened to the requests of a device, in order: its path, or its path with a fault. */
export interface Wire {
  readonly asked: string[]
  /** What the next requests meet instead of the server. */
  readonly faults: ((send: () => Promise<Response>) => Promise<Response>)[]
}

export const unavailable = (retryAfter?: number) => (): Promise<Response> =>
  Promise.resolve(
    Response.json(
      { error: 'temporarily_unavailable', error_description: 'Down.', error_code: 'Unavailable' },
      { status: 503, headers: retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) } },
    ),
  )
export const refused = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))
/** The server does what it was asked, and nobody hears of it. */
export const lost = async (send: () => Promise<Response>): Promise<Response> => {
  await (await send()).arrayBuffer()
  throw new TypeError('fetch failed')
}

export const newDevice = (options: Partial<DeviceOptions> = {}) => {
  const wire: Wire = { asked: [], faults: [] }
  const store = options.store ?? memoryStore()
  const failures: string[] = []
  const name = `unit-${String(names++)}`
  const device = createDevice({
    issuer: server.issuer,
    store,
    clock: server.host.now,
    onRenewalFailed: ({ errorCode }) => failures.push(errorCode),
    fetch(url, init) {
      wire.asked.push(new URL(url as string).pathname)
      const send = () => fetch(url, init)
      return (wire.faults.shift() ?? ((go) => go()))(send)
    },
    ...options,
  })
  const principal = { subject: 'library', principalId: name, principalType: 'device' } as const
  const enrolment: Enrolment = { ...principal, secondFactor: { kind: 'word', value: 'right' } }
  return { device, store, wire, failures, enrolment, name }
}

export interface HeldWaits {
  /** How long the library wanted to wait, in seconds. */
  readonly lengths: number[]
  /** Ends the waits that are there. */
  end(): void
  /** Ends every wait as soon as it begins, until the promise is settled. */
  skipUntil<T>(promise: Promise<T>): Promise<T>
}

/** Timers of the library, and of nobody else in this process, wait until they are ended. */
export const holdWaits = (): HeldWaits => {
  const { setTimeout: start, clearTimeout: stop } = globalThis
  const held = new Map<object, () => void>()
  const lengths: number[] = []
  /** Who called, behind the spy and this file. */
  const isOurs = (): boolean =>
    new Error().stack
      ?.split('\n')
      .slice(1)
      .find((frame) => !/node_modules|device-library\/set-up/.test(frame))
      ?.includes('/libraries/device/') === true
  const hold = (work: () => void, milliseconds = 0): object => {
    const timer = { unref: () => timer }
    held.set(timer, work)
    lengths.push(milliseconds / 1000)
    return timer
  }
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((...args: Parameters<typeof start>) =>
    isOurs() ? hold(args[0], args[1]) : start(...args)) as typeof start)
  vi.spyOn(globalThis, 'clearTimeout').mockImplementation((timer) => {
    if (!held.delete(timer as unknown as object)) stop(timer)
  })
  const end = (): void => {
    const works = [...held.values()]
    held.clear()
    for (const work of works) work()
  }
  return {
    lengths,
    end,
    async skipUntil(promise) {
      let isSettled = false
      const settle = (): void => {
        isSettled = true
      }
      promise.then(settle, settle)
      for (;;) {
        await new Promise((resolve) => setImmediate(resolve))
        if (isSettled) return promise
        end()
      }
    },
  }
}

export const payloadOf = (attestation: string) => decodeJws(attestation).payload

/** Attestations that the server has issued to a principal, by step. */
export const issued = async (principalId: string): Promise<unknown[]> =>
  (await server.host.server.audit())
    .filter(({ event, did }) => event === 'attestation.issued' && did === principalId)
    .map(({ step }) => step)
