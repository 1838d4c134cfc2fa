import { fileURLToPath } from 'node:url'
import type { Journey } from './case.js'
import { receive, startPinned, type Pinned } from '../test/support/peer/pinned.js'

/** Placeholders in the requests of a journey. Values of earlier answers replace them. */
export const ofAnswer = { requestUri: 'REQUEST_URI_OF_THE_ANSWER', code: 'CODE_OF_THE_ANSWER' } as const

export interface Job {
  readonly port: number
  /** The server's process, for its CPU time. */
  readonly pid: number
  readonly connections: number
  /** Complete HTTP requests. */
  readonly requests: readonly (string | Journey)[]
  /** True: repeats until the time is over. False: sends each once, and ends when they or the time are used up. */
  readonly repeat: boolean
  readonly warmMs: number
  readonly measureMs: number
  /** A member of the JSON answers to return. */
  readonly collect?: string
}

export interface Measured {
  readonly count: number
  /** Answers other than 200, and those that a journey cannot continue from. There must be none. */
  readonly refused: number
  readonly firstRefusal: string | undefined
  readonly seconds: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  readonly cpuSeconds: number
  /** Share of its core that the generator used. Near 1, the generator itself was measured. */
  readonly busy: number
  readonly collected: readonly string[]
}

/** The load generator, a separate process on the second core. */
export class Load implements AsyncDisposable {
  readonly #process: Pinned

  private constructor(process: Pinned) {
    this.#process = process
  }

  static async start(): Promise<Load> {
    const file = fileURLToPath(new URL('load-generator.ts', import.meta.url))
    const process = startPinned(1, ['--import', 'tsx', file])
    await receive(process)
    return new Load(process)
  }

  /** Throws when a request was refused, because error answers must not be measured. */
  async run(job: Job): Promise<Measured> {
    this.#process.send(job)
    const { measured, error } = (await receive(this.#process)) as { measured?: Measured; error?: string }
    if (measured === undefined) throw new Error(error)
    if (measured.refused > 0) throw new Error(`${measured.refused} requests refused: ${measured.firstRefusal}`)
    return measured
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill()
  }
}
