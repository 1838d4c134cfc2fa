import type { Clock } from '../clock.js'
import { withDeadline } from '../deadline.js'
import { Unavailable } from '../unavailable.js'
import type { Log } from './log.js'

export interface ComponentHealth {
  readonly status: 'up' | 'down' | 'starting' | 'draining'
  readonly message?: string
}

export interface ReadinessReport {
  readonly ready: boolean
  readonly components: Readonly<Record<string, ComponentHealth>>
}

/** One thing that must work before this process may be sent requests. */
export interface HealthCheck {
  /** The operator's name for it: `storage.records`, `keys.es-1`. */
  readonly name: string
  /** Milliseconds between the end of one check and the start of the next. */
  readonly intervalMs: number
  /** Milliseconds after which the signal is aborted and the component counts as down. */
  readonly deadlineMs: number
  /**
   * Resolves when the component works, or with the state of each of its parts; one part that is down takes the
   * component down. Operators see the message of an `Unavailable`, but not of other errors.
   */
  check(signal: AbortSignal): Promise<Readonly<Record<string, ComponentHealth>> | void>
  /** The state of each part as far as it is known without a check. Reports use it in place of the last result. */
  known?(): Readonly<Record<string, ComponentHealth>>
}

/** Whether this process may be sent requests. Callers never wait for a component, because results are kept. */
export interface Readiness {
  /** Checks at once and then in the background. The component counts as down until it has passed once. */
  register(check: HealthCheck): void
  report(): ReadinessReport
  /** Reports not ready from now on, whatever the components' state. This is the first step of a shutdown. */
  drain(): void
  /** Stops the checks. */
  close(): void
}

interface Finding {
  readonly health: ComponentHealth
  readonly parts: Readonly<Record<string, ComponentHealth>>
}

interface Component {
  readonly check: HealthCheck
  health: ComponentHealth
  /** Shown as `keys.es-1`. */
  parts: Finding['parts']
  checkedAt: number
}

/** Readiness from background checks. A result that is not renewed in time counts as down. */
export const createReadiness = (clock: Clock, log: Log): Readiness => {
  const components = new Map<string, Component>()
  const timers = new Map<string, NodeJS.Timeout>()
  const state = { draining: false, closed: false }

  const run = async (component: Component): Promise<void> => {
    const { check } = component
    const { health, parts } = await probe(check, log)
    if (state.closed) return
    if (health.status !== component.health.status) {
      log[health.status === 'up' ? 'info' : 'warn']('A component changed', { component: check.name, ...health })
    }
    component.health = health
    component.parts = parts
    component.checkedAt = clock()
    timers.set(check.name, setTimeout(() => void run(component), check.intervalMs).unref())
  }

  const current = ({ check, health, parts, checkedAt }: Component): Finding => {
    if (health.status !== 'up') return { health, parts }
    const known = check.known?.() ?? parts
    return clock() - checkedAt > 2 * (check.intervalMs + check.deadlineMs)
      ? { health: { status: 'down', message: 'not checked within the deadline' }, parts: known }
      : { health: healthOf(known), parts: known }
  }

  return {
    register: (check) => {
      if (components.has(check.name)) throw new Error(`two health checks are called ${check.name}`)
      const component: Component = { check, health: { status: 'starting' }, parts: {}, checkedAt: clock() }
      components.set(check.name, component)
      void run(component)
    },
    report: () => {
      const reported = [...components].flatMap(([name, component]): [string, ComponentHealth][] => {
        const { health, parts } = current(component)
        const named = Object.entries(parts).map(([part, found]): [string, ComponentHealth] => [
          `${name}.${part}`,
          found,
        ])
        return [[name, health], ...named]
      })
      if (state.draining) reported.unshift(['process', { status: 'draining' }])
      return { ready: reported.every(([, { status }]) => status === 'up'), components: Object.fromEntries(reported) }
    },
    drain: () => {
      state.draining = true
    },
    close: () => {
      state.closed = true
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}

const healthOf = (parts: Finding['parts']): ComponentHealth => {
  const down = Object.entries(parts).filter(([, { status }]) => status !== 'up')
  if (down.length === 0) return { status: 'up' }
  return {
    status: 'down',
    message: down.map(([part, { status, message }]) => `${part}: ${message ?? status}`).join('; '),
  }
}

const probe = async (check: HealthCheck, log: Log): Promise<Finding> => {
  const late = () => new Unavailable(check.name, 'unknown', `no answer within ${check.deadlineMs} ms`)
  try {
    const parts = (await withDeadline(check.deadlineMs, check.check, late)) ?? {}
    return { health: healthOf(parts), parts }
  } catch (error) {
    if (error instanceof Unavailable) return { health: { status: 'down', message: error.message }, parts: {} }
    log.error('A health check failed', { component: check.name }, error)
    return { health: { status: 'down' }, parts: {} }
  }
}
