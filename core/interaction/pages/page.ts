import type { Translator } from '../languages/translator.js'
import type { ViewData } from './templates.js'
import type { DescribePermissions } from './permissions.js'

/** What pages of one language are made with. */
export interface PageContext {
  readonly translator: Translator
  readonly describePermissions: DescribePermissions
  /** The person's own page; absent: there is none. */
  readonly accountUrl?: string | undefined
}

/** One page: from what an endpoint knows to what its template is given. */
export interface PageKind<Page> {
  /** Its template is `views/{view}.eta`. */
  readonly view: string
  /** Text that comes from clients and people is data, never markup: Eta escapes it, and `webAddress` is for links. */
  readonly describe: (page: Page, context: PageContext) => ViewData
  /** The states that have all of its forms, by name, the plain one under ''. `signet check` renders them. */
  readonly samples: Readonly<Record<string, Page>>
}

export const definePage = <Page>(kind: PageKind<Page>): PageKind<Page> => kind

/** A form that the person sends back to us. */
export interface FormPage {
  /** Where the form is posted to: an absolute URL of this issuer. */
  readonly action: string
  /** Value of the hidden field `csrf`. */
  readonly csrf: string
}

/** A form that a client waits for. */
export interface ClientFormPage extends FormPage {
  /** Value of the hidden field `client`: whose form it is, should nothing else know any more when it comes back. */
  readonly sealedClient?: string | undefined
}

/** Who is signed in. */
export interface AccountOnPage {
  readonly name: string
  /** Where somebody else signs in instead; absent where the client asks for this account alone. */
  readonly otherUrl?: string
}

export const showAccount = ({ name, otherUrl }: AccountOnPage) => ({
  account: name,
  initial: initialOf(name),
  otherUrl,
})

export const initialOf = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? ''
