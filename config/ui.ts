import { z } from 'zod'
import { languageTag, lineOf, textForPeople } from './claims.js'
import { isLoopbackHost, text } from './fields.js'

const colour = z
  .string()
  .regex(/^#(?:[\da-f]{3}|[\da-f]{6})$/i, 'must be a colour in quotes, such as "#0b5d3b"')
  .transform((value) => value.toLowerCase())

/** Relative to the configuration file. */
const path = text.refine(
  (value) => !/^[a-z][a-z\d+.-]+:/i.test(value),
  'must be the path of a file: Signet serves it itself, and the pages load nothing from elsewhere',
)

const link = z.string().superRefine((value, context) => {
  const fail = (message: string) => context.addIssue({ code: 'custom', message })
  if (!URL.canParse(value)) return fail('must be an absolute URL')
  const { protocol, hostname, username, password } = new URL(value)
  if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname)))
    return fail('must be an https URL (http is for loopback only)')
  if (username !== '' || password !== '') fail('must not carry credentials')
})

const brand = {
  /** Over each page, where there is no logo, and in the title of the browser's tab. */
  name: lineOf(60).optional(),
  logo: path.optional(),
  /** Where the browser prefers dark pages. Absent: `logo`. */
  logo_dark: path.optional(),
  /** Of buttons and links. */
  accent: colour.optional(),
  /** On dark pages. Absent: `accent`, as much lighter as it has to be. */
  accent_dark: colour.optional(),
  support_url: link.optional(),
  /** Beneath the password, and beneath the ways to sign in. */
  links: z.strictObject({ forgot_password: link.optional(), register: link.optional() }).optional(),
  footer: z
    .array(z.strictObject({ title: textForPeople(60).unwrap(), url: link }))
    .max(6)
    .optional(),
}

type Logos = z.ZodType<{ name?: string | undefined; logo?: string | undefined; logo_dark?: string | undefined }>

const namedLogos = <Brand extends Logos>(section: Brand): Brand =>
  section
    .refine(({ logo, logo_dark }) => logo_dark === undefined || logo !== undefined, {
      path: ['logo'],
      message: 'is required where logo_dark is',
    })
    .refine(({ name, logo }) => logo === undefined || name !== undefined, {
      path: ['name'],
      message: 'is required where logo is: it is the text of the logo',
    })

/** How the pages look. */
export const ui = namedLogos(
  z.strictObject({
    ...brand,
    favicon: path.optional(),
    stylesheet: path.optional(),
    /** The languages of the pages, the default first. Absent: every one that there is. */
    locales: z
      .array(languageTag)
      .min(1, 'must name at least one language')
      .refine((tags) => new Set(tags).size === tags.length, 'names a language twice')
      .optional(),
    /** A folder with `{language}.json`. */
    messages: path.optional(),
    /** A folder of files that take the place of views. */
    templates: path.optional(),
    /** What differs on the pages of one client's requests, by `client_id`. */
    clients: z.record(text, namedLogos(z.strictObject(brand))).default({}),
  }),
).prefault({})
