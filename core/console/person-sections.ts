import type { FoundPerson } from '../administration/accounts.js'
import { listFactors } from '../administration/factors.js'
import { pageConsents, pageDevices, pageGrants, pageSessions } from '../administration/person-pages.js'
import { unlessRefused } from '../admin-api/problem.js'
import type { Translator } from '../interaction/languages/translator.js'
import { code, pathTo, timeCell, type Section } from './cells.js'
import type { ConsoleCall } from './console-page.js'
import { textOf } from './person-words.js'

/** As many records of one kind as a page shows. */
const shown = 50

/** A request about one person. */
export type Call = ConsoleCall<undefined>

export const sessionsOf = async ({ parts, by, texts, may }: Call, sub: string): Promise<Section> => {
  const { found } = await pageSessions(parts, by, { sub, after: undefined, limit: shown })
  return {
    title: texts.text('person.sessions'),
    table: {
      columns: ['browser', 'since', 'how'].map((name) => texts.text(`person.${name}`)).concat(''),
      rows: found.map(({ sid, authTime, amr, seen: { browser, system } = {} }) => [
        { text: browser ?? texts.text('person.unknown_browser'), small: system },
        timeCell(texts, authTime * 1000),
        code(amr.join(' ')),
        may('people.support')
          ? {
              buttons: [
                {
                  action: pathTo('people', sub, 'sessions', sid, 'end'),
                  title: texts.text('person.end'),
                  danger: true,
                },
              ],
            }
          : {},
      ]),
    },
    empty: texts.text('person.no_sessions'),
  }
}

export const grantsOf = async ({ parts, by, texts, may }: Call, sub: string): Promise<Section> => {
  const { found } = await pageGrants(parts, by, { sub, after: undefined, limit: shown })
  return {
    title: texts.text('person.grants'),
    table: {
      columns: ['client', 'scope', 'granted'].map((name) => texts.text(`person.${name}`)).concat(''),
      rows: found.map(({ grantId, clientId, scope, grantedAt }) => [
        { text: clientId, href: pathTo('clients', clientId) },
        code(scope.join(' ')),
        timeCell(texts, grantedAt * 1000),
        may('people.support')
          ? {
              buttons: [
                {
                  action: pathTo('people', sub, 'grants', grantId, 'end'),
                  title: texts.text('person.end'),
                  danger: true,
                },
              ],
            }
          : {},
      ]),
    },
    empty: texts.text('person.no_grants'),
  }
}

export const consentsOf = async ({ parts, by, texts, may }: Call, sub: string): Promise<Section> => {
  const { found } = await pageConsents(parts, by, { sub, after: undefined, limit: shown })
  return {
    title: texts.text('person.consents'),
    table: {
      columns: ['client', 'scope'].map((name) => texts.text(`person.${name}`)).concat(''),
      rows: found.map(({ clientId, scope }) => [
        { text: clientId, href: pathTo('clients', clientId) },
        code(scope.join(' ')),
        may('people.support')
          ? {
              buttons: [
                { action: pathTo('people', sub, 'consents', clientId, 'end'), title: texts.text('person.forget') },
              ],
            }
          : {},
      ]),
    },
    empty: texts.text('person.no_consents'),
  }
}

export const factorsOf = async ({ parts, by, texts, may }: Call, sub: string): Promise<Section> => {
  const factors = unlessRefused(await listFactors(parts, by, { sub }))
  return {
    title: texts.text('person.factors'),
    table: {
      columns: ['factor', 'added', 'used'].map((name) => texts.text(`person.${name}`)).concat(''),
      rows: factors.map(({ id, kind, name, left, createdAt, lastUsedAt }) => [
        {
          text: texts.text(`person.factor.${kind}`),
          small: name ?? (left === undefined ? undefined : texts.count('person.codes_left', left)),
        },
        timeCell(texts, createdAt * 1000),
        lastUsedAt === undefined ? { text: texts.text('common.never') } : timeCell(texts, lastUsedAt * 1000),
        may('people.support')
          ? {
              buttons: [
                {
                  action: pathTo('people', sub, 'factors', id, 'remove'),
                  title: texts.text('person.remove'),
                  danger: true,
                },
              ],
            }
          : {},
      ]),
    },
    empty: texts.text('person.no_factors'),
  }
}

export const devicesOf = async ({ parts, by, texts, may }: Call, sub: string): Promise<readonly Section[]> => {
  const { found } = await pageDevices(parts, by, { sub, after: undefined, limit: shown })
  if (found.length === 0) return []
  return [
    {
      title: texts.text('nav.devices'),
      table: {
        columns: ['device', 'state', 'enrolled'].map((name) => texts.text(`devices.${name}`)),
        rows: found.map(({ id, enrolment, revokedAt }) => [
          {
            text: enrolment.principal.principalId,
            small: enrolment.principal.principalType,
            href: may('principals.read') ? pathTo('devices', id) : undefined,
          },
          revokedAt === undefined
            ? { text: texts.text('common.active'), tone: 'good' as const }
            : { text: texts.text('devices.revoked'), tone: 'bad' as const },
          timeCell(texts, enrolment.enrolledAt * 1000),
        ]),
      },
    },
  ]
}

export const actionsOf = ({ texts, may }: Call, person: FoundPerson): Section => {
  const at = pathTo('people', person.sub)
  return {
    title: texts.text('person.actions'),
    links: [
      ...(may('audit.read')
        ? [{ href: `/audit?sub=${encodeURIComponent(person.sub)}`, title: texts.text('common.history') }]
        : []),
      ...(may('people.support') && person.source !== 'external'
        ? [
            person.disabled === true
              ? { href: `${at}/enable`, title: texts.text('person.enable') }
              : { href: `${at}/disable`, title: texts.text('person.disable') },
          ]
        : []),
      ...(may('people.support')
        ? [
            { href: `${at}/recover`, title: texts.text('person.recover') },
            { href: `${at}/end`, title: texts.text('person.end_all'), danger: true },
          ]
        : []),
      ...(may('people.write') && person.source !== 'configuration'
        ? [{ href: `${at}/delete`, title: texts.text('person.delete'), danger: true }]
        : []),
    ],
  }
}

export const claimsOf = (texts: Translator, { claims }: FoundPerson): Section => ({
  title: texts.text('person.claims'),
  ...(Object.keys(claims).length === 0
    ? { lead: texts.text('person.no_claims') }
    : {
        facts: Object.entries(claims).map(
          ([name, value]) => [name, { text: textOf(value) ?? JSON.stringify(value) }] as const,
        ),
      }),
})
