import { randomUUID } from 'node:crypto'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The clock of a process that is started with its environment. */
export interface FakeClock {
  readonly env: Readonly<Record<string, string>>
  /** From now on it is so many seconds ahead of the machine's; negative: behind. Time that only passes is not touched. */
  set(seconds: number): void
}

/** `library` is libfaketime; the clock is kept in `directory`. */
export const createFakeClock = (library: string, directory: string, seconds = 0): FakeClock => {
  const file = join(directory, `clock-${randomUUID()}`)
  const set = (ahead: number): void => {
    // As one step: it is read at every look at the clock.
    writeFileSync(`${file}.next`, `${ahead < 0 ? '' : '+'}${String(ahead)}\n`)
    renameSync(`${file}.next`, file)
  }
  set(seconds)
  const env = {
    LD_PRELOAD: library,
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    // The name changed with version 0.9.10.
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
    NO_FAKE_STAT: '1',
  }
  return { env, set }
}
