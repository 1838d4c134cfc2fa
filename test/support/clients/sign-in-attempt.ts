import { randomBytes } from 'node:crypto'
import type { SignInAttempt } from '../../../core/api/index.js'

/** 32 bytes, base64url. */
export const newChallenge = (): string => randomBytes(32).toString('base64url')

/** What the core gives to a method of https://id.bank.example/op. */
export const attemptOf = (more: Partial<SignInAttempt> = {}): SignInAttempt => ({
  ...{ id: newChallenge(), interactionId: 'i', challenge: newChallenge() },
  callbackUrl: 'https://id.bank.example/op/callback',
  from: { address: '192.0.2.1' },
  request: { scopes: [], acrValues: [], uiLocales: [] },
  signal: new AbortController().signal,
  ...more,
})
