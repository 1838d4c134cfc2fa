import { z } from 'zod'
import { claimName, scopeToken, text } from './fields.js'

/** Text on one line with at most `most` characters. */
export const lineOf = (most: number) =>
  z
    .string()
    .max(most, `must have at most ${String(most)} characters`)
    .regex(
      /^[^\p{Cc}\p{Cs}]*[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800][^\p{Cc}\p{Cs}]*$/u,
      'must be one line of text',
    )

/** RFC 5646. */
export const languageTag = z
  .string()
  .regex(/^[A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8}){0,4}$/, 'must be a language tag, such as en or pt-BR (RFC 5646)')
  .meta({ title: 'language tag' })

/** Text for people: one for everyone, or one per language. */
export const textForPeople = (most: number) =>
  z
    .union([
      lineOf(most).transform((plain): Record<string, string> => ({ en: plain })),
      z.record(languageTag, lineOf(most)).refine((texts) => Object.keys(texts).length > 0, 'must have a text'),
    ])
    .meta({ title: 'text, or texts by language' })
    .optional()

const claimNames = z.array(claimName).max(100, 'must name at most 100 claims')

const scope = z.strictObject({
  name: scopeToken.describe('A name of OpenID Connect, such as `profile`, or your own.'),
  title: textForPeople(100).describe(
    'What people are asked to allow: at most 100 characters. `{ en: See your roles, de: Deine Rollen sehen }`',
  ),
  description: textForPeople(300).describe('A second line for people, of at most 300 characters.'),
  claims: claimNames
    .default([])
    .describe(
      'The claims of the account that this scope releases, in addition to those of OpenID Connect Core §5.4. `[department, employee_number]`',
    ),
})

/** Names only, or with a description for people and the claims they stand for. */
export const scopes = z
  .array(z.union([scopeToken.transform((name): z.output<typeof scope> => ({ name, claims: [] })), scope]))
  .default([])

/** The places where a rule can release a claim. */
export const claimPlaces = ['id_token', 'userinfo', 'access_token'] as const

const rule = z
  .strictObject({
    from: claimName
      .optional()
      .describe(
        'The claim of the account, or of the login plugin, that has the value. Default: the one of the same name. `groups`',
      ),
    value: z
      .json()
      .refine((value) => value !== null, 'must not be null')
      .optional()
      .describe('A constant, the same for everyone. Without `from` and `only`. `acme`'),
    only: z
      .array(z.string().regex(/^[^*]+\*?$/, 'must be a value, or the beginning of values and then *'))
      .min(1, 'must name at least one value')
      .optional()
      .describe("Which texts stay, by value or by their beginning and `*`. Default: everything. `['bank-*', auditor]`"),
    in: z
      .array(z.enum(claimPlaces))
      .default([])
      .describe('Where the claim is added: `id_token`, `userinfo`, `access_token`.'),
    for: z
      .array(text)
      .min(1, 'must name a client or a resource')
      .optional()
      .describe(
        'The clients (by id) and resource servers (by identifier) for which `in` holds. Default: all. `[https://api.bank.example]`',
      ),
  })
  .refine(({ from, value, only }) => value === undefined || (from === undefined && only === undefined), {
    path: ['value'],
    message: 'is the same for everyone: leave out from and only',
  })

/** Keyed by the claim's name in tokens. */
export const claims = z
  .record(claimName, rule)
  .refine((rules) => Object.keys(rules).length <= 100, 'must have at most 100 claims')
  .default({})
