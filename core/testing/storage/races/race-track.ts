import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Go, Heat, Report } from './race-runner.js'
import type { Outcome, RaceBackend, RaceVerb } from './verbs.js'

export interface RaceScore {
  readonly rounds: number
  /** Rounds with exactly one winner in which every other caller learned that it lost. */
  readonly fair: number
  readonly doubles: number
  readonly withoutWinner: number
  readonly faults: number
}

export interface RaceTrack extends AsyncDisposable {
  /**
   * Releases all processes at once in each round, and starts the next when all have reported; `abreast` rounds run
   * concurrently.
   */
  run(verb: string, rounds: number, abreast?: number): Promise<RaceScore>
}

export interface RaceSetting {
  /** Prepares the rounds. Disposed of together with the track. */
  readonly backend: RaceBackend & AsyncDisposable
  readonly verbs: Readonly<Record<string, RaceVerb>>
  readonly processes: number
  /** Starts one process, which must call `runRaces` on the same store with this number and the same verbs. */
  readonly start: (index: number) => ChildProcess
}

/** Resolves with the next message. Rejects when the process ends first. */
const nextReport = (child: ChildProcess): Promise<Report> =>
  new Promise((resolve, reject) => {
    const onMessage = (message: unknown) => {
      child.off('exit', onExit)
      resolve(message as Report)
    }
    const onExit = (code: number | null, signal: string | null) => {
      child.off('message', onMessage)
      reject(new Error(`a racing process ended: ${code ?? signal}`))
    }
    child.once('message', onMessage)
    child.once('exit', onExit)
  })

/** Starts the processes. They may connect to the store differently from the preparation of rounds. */
export const openRaceTrack = async (setting: RaceSetting): Promise<RaceTrack> => {
  const { backend, verbs, processes, start } = setting
  const children = Array.from({ length: processes }, (_, index) => start(index))

  const known = (name: string): RaceVerb => {
    const verb = verbs[name]
    if (verb === undefined) throw new Error(`no such verb: ${name}`)
    return verb
  }

  const stop = async () => {
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    const exits = running.map((child) => once(child, 'exit'))
    for (const child of running) child.disconnect()
    await Promise.all(exits)
    await backend[Symbol.asyncDispose]()
  }

  try {
    await Promise.all(children.map(nextReport))
  } catch (error) {
    await stop()
    throw error
  }

  const runAbreast = async (verb: string, count: number): Promise<readonly (readonly Outcome[])[]> => {
    const heats = await Promise.all(
      Array.from({ length: count }, async (): Promise<Heat> => {
        const id = randomUUID()
        return { id, given: await known(verb).prepare(backend, id) }
      }),
    )
    const go: Go = { verb, heats }
    const reports = children.map(nextReport)
    for (const child of children) child.send(go)
    const reported = await Promise.all(reports)
    return heats.map((_, heat) => reported.map((outcomes) => outcomes[heat] as Outcome))
  }

  const run = async (verb: string, rounds: number, abreast = 1): Promise<RaceScore> => {
    const score = { rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 }
    for (let left = rounds; left > 0; left -= abreast) {
      for (const outcomes of await runAbreast(verb, Math.min(abreast, left))) {
        const winners = outcomes.filter((outcome) => outcome === 'won').length
        const losers = outcomes.filter((outcome) => outcome === 'lost').length
        if (winners > 1) score.doubles += 1
        if (winners === 0) score.withoutWinner += 1
        if (winners + losers < processes) score.faults += 1
        if (winners === 1 && losers === processes - 1) score.fair += 1
      }
    }
    return score
  }

  return { run, [Symbol.asyncDispose]: stop }
}
