import { fileURLToPath } from 'node:url'
import { receive, startPinned, stop } from '../test/support/peer/pinned.js'
import type { Case } from './case.js'

export interface BareFigures {
  /** Requests a second that the cryptography alone would allow. */
  readonly perSecond: number
  /** The same, when every signature made is also verified, as the service does. */
  readonly checkedPerSecond: number
  readonly verifyMicros: number
  readonly signMicros: number
  readonly target: number
}

/**
 * P-256 by Node on the service's core, which is idle meanwhile: a loop that does nothing else, with keys already
 * imported.
 */
export const measureBare = async (work: NonNullable<Case['bare']>, seconds: number): Promise<BareFigures> => {
  const file = fileURLToPath(new URL('bare-loop.ts', import.meta.url))
  const child = startPinned(0, ['--import', 'tsx', file, String(seconds)])
  const [verifyMicros, signMicros] = (await receive(child)) as readonly [number, number]
  await stop(child)
  const micros = work.verifications * verifyMicros + work.signatures * signMicros
  const checkedPerSecond = 1e6 / (micros + work.signatures * verifyMicros)
  return { perSecond: 1e6 / micros, checkedPerSecond, verifyMicros, signMicros, target: work.target }
}
