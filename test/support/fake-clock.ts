import { randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The clock of a process that is started with its environment. */
export interface FakeClock {
  readonly env: Readonly<Record<string, string>>
  /** From now on it is so many seconds ahead of the machine's; negative: behind. Time that only passes is not touched. */
  set(seconds: number): void
  /** It stands still, at a whole second: milliseconds since the epoch. */
  stop(at: number): void
}

/** `library` is libfaketime; the clock is kept in `directory`. It is right until it is set. */
export const createFakeClock = (library: string, directory: string): FakeClock => {
  const file = join(directory, `clock-${randomUUID()}`)
  const write = (text: string): void => {
    // As one step: it is read at every look at the clock.
    writeFileSync(`${file}.next`, `${text}\n`)
    renameSync(`${file}.next`, file)
  }
  const set = (seconds: number): void => write(`${seconds < 0 ? '' : '+'}${String(seconds)}`)
  const stop = (at: number): void => write(new Date(at).toISOString().slice(0, 19).replace('T', ' '))
  set(0)
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    // The name changed with version 0.9.10.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
    TZ: 'UTC',
  }
  return { env, set, stop }
}
