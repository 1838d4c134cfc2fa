import type { Clock } from '../clock.js'
import type { RecordStore } from '../storage/ports.js'
import { localOperator, type OperatorIdentity } from './operator.js'
import { findOperatorToken, type OperatorToken } from './operator-tokens.js'
import { permissionsOf, type Roles } from './permissions.js'

/** What a request to the admin listener shows of its sender. */
export interface OperatorRequest {
  readonly method: string
  header(name: string): string | undefined
  cookie(name: string): string | undefined
  /** The peer's address, `unix` for a unix socket. */
  readonly address: string
}

/**
 * Finds out which operator sent a request. Undefined: the request has no credential of an operator, or none that is
 * valid now. Throws `Unavailable`.
 */
export type AuthenticateOperator = (request: OperatorRequest) => Promise<OperatorIdentity | undefined>

export interface AuthenticationOptions {
  readonly operatorTokens: Pick<RecordStore<OperatorToken>, 'find'>
  readonly clock: Clock
  /** The roles in force. */
  readonly roles: () => Roles
  /** Tells whether a request has `admin.token`, whose bearer is a viewer. */
  readonly hasAdminToken: (request: OperatorRequest) => boolean
}

/** Headers of browsers and proxies. A request that has one of them does not come from a program on the host. */
const foreign = ['origin', 'sec-fetch-site', 'x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via']

/**
 * Tells whether a program on the host sent the request itself through the unix socket. Whoever can open the socket can
 * open the stores, too.
 */
export const isLocalProgram = (request: Pick<OperatorRequest, 'address' | 'header'>): boolean =>
  request.address === 'unix' && foreign.every((name) => request.header(name) === undefined)

/** The name of the scheme is case-insensitive (RFC 9110 §11.1). */
const bearer = /^bearer +(\S+)$/i

/** Authenticates operators by what their requests carry: a token, or the socket that they came through. */
export const createAuthenticateOperator =
  ({ operatorTokens, clock, roles, hasAdminToken }: AuthenticationOptions): AuthenticateOperator =>
  async (request) => {
    const authorization = request.header('authorization')
    if (authorization === undefined) return isLocalProgram(request) ? localOperator : undefined
    if (hasAdminToken(request)) {
      const names = ['viewer']
      return { name: 'admin.token', roles: names, permissions: permissionsOf(roles(), names), proof: 'admin_token' }
    }
    const token = await findOperatorToken(operatorTokens, bearer.exec(authorization)?.[1] ?? '', clock)
    if (token === undefined) return undefined
    const { id: credential, name, roles: names } = token
    return { name, roles: names, permissions: permissionsOf(roles(), names), proof: 'token', credential }
  }
