import { z } from 'zod'
import { languageTag, lineOf, textForPeople } from './claims.js'
import { link, text } from './fields.js'

const colour = z
  .string()
  .regex(/^#(?:[\da-f]{3}|[\da-f]{6})$/i, 'must be a colour in quotes, such as "#0b5d3b"')
  .transform((value) => value.toLowerCase())
  .meta({ title: 'colour' })

/** Relative to the configuration file. */
const path = text
  .refine(
    (value) => !/^[a-z][a-z\d+.-]+:/i.test(value),
    'must be the path of a file: Signet serves it itself, and the pages load nothing from elsewhere',
  )
  .meta({ title: 'path' })

const brand = {
  name: lineOf(60)
    .optional()
    .describe(
      'Over each page and in the title of the tab: at most 60 characters. Required with a logo. `Example Bank`',
    ),
  logo: path.optional().describe('Instead of the name over each page: SVG, PNG, JPEG, WebP or ICO. `./brand/logo.svg`'),
  logo_dark: path.optional().describe('For browsers that prefer dark pages. Default: `ui.logo`.'),
  accent: colour
    .optional()
    .describe("Of buttons and links. Readable on light pages (WCAG 2.2 AA), or refused. `'#0b5d3b'`"),
  accent_dark: colour.optional().describe('On dark pages. Default: a lighter `ui.accent`.'),
  support_url: link.optional().describe('The link "Help" at the foot of each page. `https://bank.example/help`'),
  links: z
    .strictObject({
      forgot_password: link.optional().describe('Beneath the password: "Forgot your password?"'),
      register: link.optional().describe('Beneath the ways to sign in: "Create an account"'),
    })
    .optional()
    .describe('Links of the sign-in page.'),
  footer: z
    .array(
      z.strictObject({
        title: textForPeople(60).unwrap().describe('At most 60 characters. `{ en: Imprint, de: Impressum }`'),
        url: link.describe('http on loopback alone. `https://bank.example/imprint`'),
      }),
    )
    .max(6)
    .optional()
    .describe('At most six further links.'),
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
    favicon: path.optional().describe('The icon of the tab. Default: `ui.logo`.'),
    stylesheet: path.optional().describe('CSS after that of Signet. `./brand/extra.css`'),
    locales: z
      .array(languageTag)
      .min(1, 'must name at least one language')
      .refine((tags) => new Set(tags).size === tags.length, 'names a language twice')
      .optional()
      .describe(
        '[Languages](branding.md#languages) of the pages, the default first. Default: all that there are. `[de, en]`',
      ),
    messages: path.optional().describe('A folder with texts of your own, `{language}.json`. `./messages`'),
    templates: path
      .optional()
      .describe(
        'A folder of templates that replace views: see [your own templates](branding.md#your-own-templates). `./brand/templates`',
      ),
    clients: z
      .record(text, namedLogos(z.strictObject(brand)))
      .default({})
      .describe(
        "What differs on the pages of one client's requests, by `client_id`. `{ shop: { name: Example Shop } }`",
      ),
  }),
).prefault({})
