import { afterAll, afterEach, beforeAll } from 'vitest'
import type { Wish } from '../clients/dpop-proof.js'
import { expectBadProof, startDpopServer, type DpopServer } from './dpop-server.js'

// Gives the test file that calls it a server, and looks after each test whether good requests pass.

export let dpop: DpopServer

export const setUpDpop = (): void => {
  beforeAll(async () => {
    dpop = await startDpopServer()
  })
  afterAll(() => dpop.host[Symbol.asyncDispose]())
  afterEach(() => dpop.expectGood())
}

/** By the clock of the server. */
export const seconds = (): number => Math.floor(dpop.host.now() / 1000)

/** A proof at `/token` that is good but for this. */
export const refused = async (wish: Wish): Promise<void> => expectBadProof(await dpop.ask(await dpop.proof(wish)))

export const claim = (claims: Record<string, unknown>): Promise<void> => refused({ claims })
