import type { Outcome, RaceBackend, RaceVerb } from './verbs.js'

/** One round of a race. */
export interface Heat {
  readonly id: string
  readonly given: unknown
}

export interface Go {
  readonly verb: string
  /** Rounds that run concurrently. */
  readonly heats: readonly Heat[]
}

export type Report = 'ready' | readonly Outcome[]

/**
 * One process of a race. It makes each attempt that its parent requests once and immediately, until its parent
 * releases it.
 */
export const runRaces = (
  backend: RaceBackend & AsyncDisposable,
  verbs: Readonly<Record<string, RaceVerb>>,
  index: number,
): void => {
  const report = (message: Report) => process.send?.(message)

  const attempt = async (name: string, { id, given }: Heat): Promise<Outcome> => {
    try {
      return (await verbs[name]?.attempt(backend, id, index, given)) ?? 'fault'
    } catch (error) {
      process.stderr.write(`${String(error)}\n`)
      return 'fault'
    }
  }

  process.on('message', ({ verb, heats }: Go) => {
    void Promise.all(heats.map((heat) => attempt(verb, heat))).then(report)
  })
  process.on('disconnect', () => void backend[Symbol.asyncDispose]())
  report('ready')
}
