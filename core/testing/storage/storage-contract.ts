import type { Clock } from '../../clock.js'
import { withDeadline } from '../../deadline.js'
import { storageContractVersion } from '../../storage/contract-version.js'
import type { EphemeralBackend, StorageBackend } from '../../storage/ports.js'
import { attemptCases } from './attempts-cases.js'
import { backendCases, closedRecordsCases } from './backend-cases.js'
import { counterCases } from './counters-cases.js'
import { deviceCodeCases } from './device-codes-cases.js'
import { familyCases } from './families-cases.js'
import { changeCases } from './change-cases.js'
import { listingCases } from './listing-cases.js'
import { oneTimeCases } from './one-time-cases.js'
import { recordCases } from './records-cases.js'
import { replayCases } from './replay-cases.js'
import { revocationCases } from './revocation-cases.js'
import type { Describe, Subject } from './subject.js'

/**
 * `open` opens the same store each time; it need not be empty. The adapter must take the time only from `clock`,
 * which the suite moves without sleeping.
 */
export type StorageUnderTest =
  | { readonly role?: 'records'; readonly open: (clock: Clock) => Promise<StorageBackend> }
  | { readonly role: 'ephemeral'; readonly open: (clock: Clock) => Promise<EphemeralBackend> }

/** One rule of the contract. */
export interface StorageCase {
  /** The port that it tests: `one-time records`. */
  readonly port: string
  readonly name: string
  /** Rejects with what the store did wrong. Cases share a clock and run one after another. */
  run(): Promise<void>
}

export interface StorageContract extends AsyncDisposable {
  readonly cases: readonly StorageCase[]
}

export interface StorageReport {
  /** `storageContractVersion`, which the adapter may declare when nothing failed. */
  readonly contract: number
  /** How many cases were run. */
  readonly cases: number
  /** Empty when the store keeps every rule. */
  readonly failures: readonly { readonly port: string; readonly name: string; readonly detail: string }[]
}

const open = <Backend extends EphemeralBackend>(openBackend: (clock: Clock) => Promise<Backend>) => {
  let now = Date.now()
  let opened: Backend | undefined
  const clock = () => now
  const subject: Subject<Backend> = {
    backend: () => {
      if (opened === undefined) throw new Error('the store is not open')
      return opened
    },
    open: () => openBackend(clock),
    clock,
    pass: (seconds) => {
      now += seconds * 1000
    },
  }
  const begin = async () => {
    opened ??= await openBackend(clock)
  }
  const end = async () => {
    await opened?.[Symbol.asyncDispose]()
    opened = undefined
  }
  return { subject, begin, end }
}

const stateEphemeral = (subject: Subject<EphemeralBackend>, describe: Describe): void => {
  oneTimeCases(subject, describe)
  replayCases(subject, describe)
  recordCases(subject, describe)
  counterCases(subject, describe)
  attemptCases(subject, describe)
  backendCases(subject, describe)
}

const stateRecords = (subject: Subject, describe: Describe): void => {
  stateEphemeral(subject, describe)
  listingCases(subject, describe)
  changeCases(subject, describe)
  revocationCases(subject, describe)
  familyCases(subject, describe)
  deviceCodeCases(subject, describe)
  closedRecordsCases(subject, describe)
}

/**
 * The rules of every port for a test runner, one test per case. Disposing of it closes the store. An adapter is
 * complete when all of them hold and `raceStorage` finds one winner in each round.
 */
export const storageContract = (given: StorageUnderTest): StorageContract => {
  const cases: StorageCase[] = []
  const collect = (begin: () => Promise<void>): Describe => {
    return (port, state) => {
      state((name, run) =>
        cases.push({
          port,
          name,
          run: async () => {
            await begin()
            await run()
          },
        }),
      )
    }
  }
  if (given.role === 'ephemeral') {
    const { subject, begin, end } = open(given.open)
    stateEphemeral(subject, collect(begin))
    return { cases, [Symbol.asyncDispose]: end }
  }
  const { subject, begin, end } = open(given.open)
  stateRecords(subject, collect(begin))
  return { cases, [Symbol.asyncDispose]: end }
}

const inTime = (work: () => PromiseLike<void>, milliseconds: number): Promise<void> =>
  withDeadline(
    milliseconds,
    async () => work(),
    () => new Error(`does not end within ${String(milliseconds)} ms`),
  )

/**
 * Runs the whole contract without a test runner. `deadlineMs` is per case and for closing (default 20,000). Never
 * throws.
 */
export const checkStorage = async (
  given: StorageUnderTest & { readonly deadlineMs?: number },
): Promise<StorageReport> => {
  const { deadlineMs = 20_000 } = given
  const contract = storageContract(given)
  const failures: { port: string; name: string; detail: string }[] = []
  for (const { port, name, run } of contract.cases) {
    try {
      await inTime(run, deadlineMs)
    } catch (error) {
      failures.push({ port, name, detail: error instanceof Error ? error.message : String(error) })
    }
  }
  try {
    await inTime(() => contract[Symbol.asyncDispose](), deadlineMs)
  } catch (error) {
    failures.push({ port: 'backend', name: 'closes', detail: String(error) })
  }
  return { contract: storageContractVersion, cases: contract.cases.length, failures }
}
