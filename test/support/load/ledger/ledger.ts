/** One request for tokens, and what came of it. */
export interface Entry {
  /** What may succeed once at most: a code, say. Absent: nothing is used up. */
  readonly once?: string
  /** The client did nothing wrong: it may meet an outage, but never hears that its grant is invalid. */
  readonly honest: boolean
  /** It may not succeed at all: what it shows has expired, say. */
  readonly never?: true
  readonly answer?: { readonly status: number; readonly body: Readonly<Record<string, unknown>> }
}

interface Answered {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** A driver tells it every request before it is sent and every answer that comes. */
export class Ledger {
  readonly #entries: { once?: string; honest: boolean; never?: true; answer?: Answered }[] = []

  get entries(): readonly Entry[] {
    return this.#entries
  }

  /** Sends and records. What `send` fails with stays unanswered in the books, and is thrown on. */
  async ask<T extends Answered>(request: Omit<Entry, 'answer'>, send: () => Promise<T>) {
    const entry: { once?: string; honest: boolean; never?: true; answer?: Answered } = { ...request }
    this.#entries.push(entry)
    const answer = await send()
    entry.answer = { status: answer.status, body: answer.body }
    return answer
  }

  /** How many answers had this status. */
  count(status: number): number {
    return this.#entries.filter(({ answer }) => answer?.status === status).length
  }
}
