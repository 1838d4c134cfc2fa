import { z } from 'zod'
import { endPerson } from '../../administration/people.js'
import { setPasswordOfPerson, setPersonDisabled } from '../../administration/person-changes.js'
import { copyPerson } from '../../administration/person-copy.js'
import { erasePerson } from '../../administration/person-erasure.js'
import { issueRecoveryLink } from '../../administration/recovery.js'
import { isoTime } from '../../clock.js'
import { defineApiRoute } from '../api-route.js'
import { describeCopy, describeFactorsAfter, shownCopy, shownFactorsAfter } from '../people-documents.js'
import { unlessRefused } from '../problem.js'
import { password, subOf } from './people.js'

const tag = 'People'
const path = '/people/{sub}'

const longestLink = 86_400

/** So much of the audit log is read while a request waits; the command line reads all of it. */
const copyLimits = { maxBytes: 64 * 1024 * 1024, maxLines: 10_000 }

const ended = z.object({ sub: z.string(), username: z.string(), ...shownFactorsAfter.shape })

const setDisabledRoute = (disabled: boolean) =>
  defineApiRoute(
    {
      path: `${path}/${disabled ? 'disable' : 'enable'}`,
      ...{ method: 'POST', permission: 'people.support', operation: disabled ? 'disablePerson' : 'enablePerson', tag },
      summary: disabled
        ? 'Refuses sign-ins of a person at once, and ends sessions and tokens. Accounts of the configuration stay disabled until they are enabled here.'
        : 'Lets a disabled person sign in again.',
      output: ended,
    },
    async (call) => {
      const changed = unlessRefused(await setPersonDisabled(call.parts, call.by, { sub: subOf(call), disabled }))
      const { sub, username, factors } = changed
      return { data: { sub, username, ...describeFactorsAfter(factors) } }
    },
  )

export const peopleActionRoutes = [
  setDisabledRoute(true),
  setDisabledRoute(false),
  defineApiRoute(
    {
      ...{ path: `${path}/end`, method: 'POST', permission: 'people.support', operation: 'endPerson', tag },
      summary: 'Ends all sessions, grants and consents of a person, and removes the factors if asked to.',
      body: z.strictObject({ factors: z.boolean().default(false).describe('Remove all factors as well.') }),
      output: z.object({
        known: z.boolean().describe('False: nothing was stored of this subject. What it had has ended all the same.'),
        ...{ sessions: z.int(), grants: z.int(), consents: z.int(), ...shownFactorsAfter.shape },
      }),
    },
    async (call) => {
      const { parts, by, body } = call
      const { isKnown, factors, ...counts } = await endPerson(parts, by, {
        sub: subOf(call),
        removeFactors: body.factors,
      })
      return { data: { known: isKnown, ...counts, ...describeFactorsAfter(factors) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/recovery_links`, method: 'POST', permission: 'people.support' },
      ...{ operation: 'issueRecoveryLink', tag },
      summary: 'Issues a link, once, with which a person who cannot sign in sets up how to. The previous link ends.',
      body: z.strictObject({
        expires_in: z.int().min(60).max(longestLink).default(3600).describe('Seconds for which the link is valid.'),
      }),
      output: z.object({
        link: z.string().describe('Shown only in this answer.'),
        recovery: z.string().describe('The name of the link in the audit log.'),
        expires_at: z.iso.datetime(),
      }),
      ...{ status: 201, idempotent: true },
    },
    async (call) => {
      const who = { sub: subOf(call) }
      const issued = await issueRecoveryLink(call.parts, call.by, { who, expiresIn: call.body.expires_in })
      const { link, recovery, expiresAt } = unlessRefused(issued)
      return { data: { link, recovery, expires_at: isoTime(expiresAt) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/password`, method: 'POST', permission: 'people.write', operation: 'setPassword', tag },
      summary: 'Sets the password of an account of the store. Sessions and tokens of the old one end.',
      body: z.strictObject({
        password,
        factors: z.boolean().default(false).describe('Remove all other factors as well.'),
      }),
      output: ended,
    },
    async (call) => {
      const { parts, by, body } = call
      const input = { sub: subOf(call), password: body.password, removeFactors: body.factors, hasher: parts.passwords }
      const { sub, username, factors } = unlessRefused(await setPasswordOfPerson(parts, by, input))
      return { data: { sub, username, ...describeFactorsAfter(factors) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/export`, method: 'GET', permission: 'people.write', operation: 'exportPerson', tag },
      summary: 'Returns a copy of everything that is stored of a person, without secrets.',
      output: shownCopy,
    },
    async (call) => {
      const copy = unlessRefused(await copyPerson(call.parts, call.by, { sub: subOf(call), limits: copyLimits }))
      return { data: describeCopy(copy) }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/erase`, method: 'POST', permission: 'people.write', operation: 'erasePerson', tag },
      summary: 'Erases everything of a person but the lines of the audit log.',
      output: z.object({
        account: z.enum(['store', 'external', 'none']),
        ...{ sessions: z.int(), grants: z.int(), consents: z.int(), factors: z.int(), devices: z.int() },
      }),
    },
    async (call) => ({ data: unlessRefused(await erasePerson(call.parts, call.by, subOf(call))) }),
  ),
]
