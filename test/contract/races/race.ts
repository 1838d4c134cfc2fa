import { fork, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openEmbedded } from '../../../core/storage/embedded/open-embedded.js'
import { breakBackend } from './broken-backend.js'
import { primitives, type PrimitiveName } from './primitives.js'
import type { Go, Report } from './worker.js'

export interface Score {
  readonly rounds: number
  /** Rounds with exactly one winner where every other caller was told that it lost. */
  readonly fair: number
  readonly doubles: number
  readonly withoutWinner: number
  readonly faults: number
}

export interface RaceTrack extends AsyncDisposable {
  /** In each round all processes are released at once, and the next begins when all have reported. */
  run(primitive: PrimitiveName, rounds: number): Promise<Score>
}

/** Resolves with the next message; rejects when the process ends instead. */
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

const workerFile = fileURLToPath(new URL('worker.ts', import.meta.url))

/** Starts the processes on one store. */
export const openRaceTrack = async (
  path: string,
  kind: 'embedded' | 'broken',
  processes: number,
): Promise<RaceTrack> => {
  const sound = await openEmbedded({ path, clock: Date.now })
  const backend = kind === 'broken' ? breakBackend(sound) : sound
  const children = Array.from({ length: processes }, (_, index) =>
    fork(workerFile, [path, kind, String(index)], { execArgv: ['--import', 'tsx'] }),
  )

  const stop = async () => {
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    const exits = running.map((child) => once(child, 'exit'))
    for (const child of running) child.disconnect()
    await Promise.all(exits)
    await sound[Symbol.asyncDispose]()
  }

  try {
    await Promise.all(children.map(nextReport))
  } catch (error) {
    await stop()
    throw error
  }

  const run = async (primitive: PrimitiveName, rounds: number): Promise<Score> => {
    const score = { rounds, fair: 0, doubles: 0, withoutWinner: 0, faults: 0 }
    for (let round = 0; round < rounds; round += 1) {
      const go: Go = { primitive, id: randomUUID() }
      await primitives[primitive].prepare(backend, go.id)
      const reports = children.map(nextReport)
      for (const child of children) child.send(go)
      const outcomes = await Promise.all(reports)
      const winners = outcomes.filter((outcome) => outcome === 'won').length
      const losers = outcomes.filter((outcome) => outcome === 'lost').length
      if (winners > 1) score.doubles += 1
      if (winners === 0) score.withoutWinner += 1
      if (winners + losers < processes) score.faults += 1
      if (winners === 1 && losers === processes - 1) score.fair += 1
    }
    return score
  }

  return { run, [Symbol.asyncDispose]: stop }
}
