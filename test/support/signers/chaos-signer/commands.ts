import type { KeyObject } from 'node:crypto'

export interface ChaosCommand {
  /**
   * `throttle`: an outage that says so; `refuse`: permanent; `crash`: an error of no class; `hang`: until it is aborted;
   * `deaf`: for ever, aborted or not. The others return a signature that is not one.
   */
  readonly fault: 'none' | 'throttle' | 'refuse' | 'crash' | 'hang' | 'deaf' | 'wrong_key' | 'flip' | 'truncate' | 'der'
  /** The fault strikes one call in so many. */
  readonly everyNth: number
  readonly latencyMs: number
  /** The fault strikes this key alone. */
  readonly forRef?: string
  readonly opening: 'works' | 'down' | 'refused'
}

const obedient: ChaosCommand = { fault: 'none', everyNth: 1, latencyMs: 0, opening: 'works' }

/** What a test tells a chaos signer, and what it sees of it. */
export class Chaos {
  command: ChaosCommand = obedient
  /** What the provider says of itself. */
  concurrency: number | undefined
  /** Keys by `ref`; a test may exchange one behind the provider's back. */
  readonly keys = new Map<string, KeyObject>()
  /** Signatures that were asked for, and those that a fault struck. */
  calls = 0
  struck = 0
  opened = 0

  /** What each signature waits for. */
  gate: Promise<void> | undefined

  /** What is not named works. */
  tell(command: Partial<ChaosCommand>): void {
    this.command = { ...obedient, ...command }
  }
}

/** The service loads the module by a specifier of its own, so both sides meet in this process-wide register. */
const register = ((globalThis as Record<symbol, unknown>)[Symbol.for('signet.test.chaos')] ??= new Map()) as Map<
  string,
  Chaos
>

/** The one chaos of this name. */
export const chaosNamed = (name: string): Chaos => {
  const known = register.get(name) ?? new Chaos()
  register.set(name, known)
  return known
}
