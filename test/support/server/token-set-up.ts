import { afterAll, afterEach, beforeAll } from 'vitest'
import { startTokenServer, type TokenServer } from './token-server.js'

// Gives the test file that calls it a server, and looks after each test whether good requests pass.

export let host: TokenServer

export const setUpTokens = (): void => {
  beforeAll(async () => {
    host = await startTokenServer()
  })
  afterAll(() => host[Symbol.asyncDispose]())
  afterEach(() => host.expectGood())
}
