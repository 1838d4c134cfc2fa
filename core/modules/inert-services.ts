import { noLog } from '../observe/log.js'
import { Unavailable } from '../unavailable.js'
import type { Services } from './contract.js'

const noOutside = async (): Promise<never> => {
  throw new Unavailable('check', 'no', 'A check reads nothing outside of the file.')
}

/** Stand-ins that let a plugin report what it provides; nothing behind them is available. */
export const inertServices = (issuer: string): Omit<Services, 'secondFactors'> => ({
  clock: Date.now,
  log: noLog,
  issuer,
  endpointBases: [issuer],
  codes: { find: noOutside },
  deviceCodes: { find: noOutside, poll: noOutside },
  backchannelRequests: { find: noOutside, poll: noOutside },
  refreshTokens: { find: noOutside },
  accounts: {
    findByUsername: noOutside,
    findBySubject: noOutside,
    peekBySubject: () => undefined,
    replacePassword: noOutside,
  },
  passwords: { hash: noOutside, verify: noOutside, isOwn: () => true },
  attempts: { take: noOutside, clear: noOutside, giveBack: noOutside },
  personFactors: {
    list: noOutside,
    findPasskey: noOutside,
    addPasskey: noOutside,
    usePasskey: noOutside,
    renamePasskey: noOutside,
    findTotp: noOutside,
    putTotp: noOutside,
    useTotpStep: noOutside,
    putRecoveryCodes: noOutside,
    useRecoveryCode: noOutside,
    remove: noOutside,
    removeAll: noOutside,
  },
  clockToleranceSeconds: 0,
  clientKeys: { find: noOutside },
  clientCertificates: {
    read: () => undefined,
    findTimeFault: () => undefined,
    findFault: () => 'a check trusts nobody',
  },
  clientAssertions: { claim: noOutside },
  dpopProofs: { check: noOutside },
  clientAssertionMaxAgeSeconds: 0,
  ownTokens: { verify: noOutside },
  attestations: { verify: noOutside, verifyClientAttestation: noOutside },
  factorRecords: { find: noOutside, put: noOutside, remove: noOutside, list: noOutside, update: noOutside },
  factorClaims: { claim: noOutside },
  evidenceChallenges: { issue: noOutside, redeem: noOutside },
  principals: {
    find: noOutside,
    enrol: noOutside,
    renewed: noOutside,
    findOwner: noOutside,
    claimId: noOutside,
    revoke: noOutside,
    restore: noOutside,
    release: noOutside,
    list: noOutside,
    listOwn: noOutside,
    findOwn: noOutside,
  },
  outbound: { fetch: noOutside, ask: noOutside, request: noOutside },
  issuerKeys: { find: noOutside },
  signedRequests: { sign: noOutside },
  handoffs: { open: noOutside, findAnswer: noOutside },
  externalAccounts: { isLocal: noOutside, find: noOutside, keep: noOutside, name: noOutside, findByName: noOutside },
})
