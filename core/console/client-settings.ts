import type { ListedClient } from '../administration/clients.js'
import { effectiveSettings } from '../administration/effective-client.js'
import type { Config } from '../../config/schema.js'
import type { ClientUse } from '../oauth/clients/client-uses.js'
import type { Translator } from '../interaction/languages/translator.js'
import { code, timeCell, type Cell, type Section } from './cells.js'

/** Returns the authentication method of a client, or the default. */
export const authenticationOf = ({ token_endpoint_auth_method: method }: ListedClient): string =>
  method ?? 'client_secret_basic'

const lines = (values: readonly string[] | undefined): Cell =>
  values === undefined || values.length === 0 ? { text: '–' } : { text: values.join(' · '), code: true }

/** The address at which a client's sign-in begins, as its own application would send the browser there. */
export const tryUrl = (issuer: string, { client_id, scope }: ListedClient, redirectUri: string): string =>
  `${issuer}/authorize?${new URLSearchParams({
    ...{ response_type: 'code', client_id, redirect_uri: redirectUri, state: 'try' },
    scope: scope.includes('openid') ? 'openid' : scope.join(' '),
    // The verifier is 43 times `A`: nobody redeems the code.
    ...{ code_challenge: 'DwBzhbb51LfusnSGBa_hqYSgo7-j8BTQnip4TOnlzRo', code_challenge_method: 'S256' },
  }).toString()}`

/** The settings of a client in groups, as its form has them. */
export const settingsOf = (texts: Translator, client: ListedClient): readonly Section[] => [
  {
    title: texts.text('client.group.basics'),
    facts: [
      [texts.text('client.field.client_id'), code(client.client_id)],
      [texts.text('clients.source'), { text: texts.text(`clients.from.${client.source}`) }],
      [texts.text('client.field.application_type'), code(client.application_type)],
      [texts.text('client.field.contacts'), lines(client.contacts)],
    ],
  },
  {
    title: texts.text('client.group.sign_in'),
    facts: [
      [texts.text('client.field.redirect_uris'), lines(client.redirect_uris)],
      [texts.text('client.field.post_logout_redirect_uris'), lines(client.post_logout_redirect_uris)],
      [texts.text('client.field.backchannel_logout_uri'), code(client.backchannel_logout_uri ?? '–')],
      [texts.text('client.field.consent'), code(client.consent ?? 'remembered')],
    ],
  },
  {
    title: texts.text('client.group.authentication'),
    facts: [
      [texts.text('client.field.token_endpoint_auth_method'), code(authenticationOf(client))],
      [
        texts.text('client.secret'),
        { text: texts.text(client.client_secret_sha256 ? 'client.secret.set' : 'client.secret.none') },
      ],
      ...(client.previous_client_secret_expires_at === undefined
        ? []
        : [
            [
              texts.text('client.secret.previous_until'),
              timeCell(texts, client.previous_client_secret_expires_at * 1000),
            ] as const,
          ]),
      [texts.text('client.field.jwks_uri'), code(client.jwks_uri ?? '–')],
    ],
  },
  {
    title: texts.text('client.group.tokens'),
    facts: [
      [texts.text('client.field.grant_types'), lines(client.grant_types)],
      [texts.text('client.field.scope'), lines(client.scope)],
      [texts.text('client.field.allowed_audiences'), lines(client.allowed_audiences)],
      [texts.text('client.field.security_profile'), code(client.security_profile)],
      [
        texts.text('client.field.dpop_bound_access_tokens'),
        { text: texts.text(client.dpop_bound_access_tokens ? 'common.yes' : 'common.no') },
      ],
    ],
  },
]

/** Shows the last use of a client, and its algorithms. */
export const usesSection = (texts: Translator, use: ClientUse | undefined): Section => ({
  title: texts.text('client.use'),
  facts: [
    [texts.text('client.use.last'), use === undefined ? { text: texts.text('common.never') } : code(use.last)],
    [
      texts.text('client.use.algs'),
      {
        text:
          use === undefined
            ? '–'
            : Object.entries(use.algorithms)
                .map(([alg, day]) => `${alg} (${day})`)
                .join(', '),
      },
    ],
  ],
})

/** Settings that apply though the client does not have them, and where they come from. */
export const effectiveSection = (texts: Translator, config: Config, client: ListedClient): Section => ({
  title: texts.text('client.effective'),
  table: {
    columns: ['setting', 'value', 'from'].map((name) => texts.text(`client.effective.${name}`)),
    rows: Object.entries(effectiveSettings(config, client)).map(([name, { value, from }]) => [
      code(name),
      code(typeof value === 'string' ? value : JSON.stringify(value)),
      { text: texts.text(`client.effective.from.${from}`) },
    ]),
  },
})
