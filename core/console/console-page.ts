import type { z } from 'zod'
import type { ApiParts } from '../admin-api/api-route.js'
import type { Operator } from '../administration/administration.js'
import type { EndpointRequest } from '../endpoints/message.js'
import type { Translator } from '../interaction/languages/translator.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { Permission } from '../operators/permissions.js'

/** The path below which the console is. */
export const consolePath = '/console'

/** An entry of the navigation. */
export type ConsoleSection =
  | 'overview'
  | 'keys'
  | 'signers'
  | 'clients'
  | 'people'
  | 'devices'
  | 'approvals'
  | 'registrations'
  | 'audit'
  | 'configuration'
  | 'operators'

/** A page to show: a view with its data. Every value is escaped. */
export interface ConsoleView {
  /** `views/{view}.eta`. */
  readonly view: string
  readonly title: string
  /** 200 unless it says otherwise, such as 400 for a form that comes back. */
  readonly status?: number
  readonly data: Readonly<Record<string, unknown>>
}

/** A file to save. */
export interface ConsoleFile {
  readonly file: string
  readonly type: string
  readonly body: string
}

/** The outcome of a form: another page, with a notice by its key, or a page that is shown only once. */
export type ConsoleOutcome =
  | { readonly to: string; readonly notice?: string; /** `Set-Cookie` values. */ readonly cookies?: readonly string[] }
  | ConsoleView

/** One request of an operator who may do what the page or form is for. */
export interface ConsoleCall<Input> {
  /** The query of a page, the fields of a form. */
  readonly input: Input
  readonly path: (name: string) => string
  readonly operator: OperatorIdentity
  /** The operator as the audit log names it. */
  readonly by: Operator
  /** Tells whether the operator has a permission, for links and forms that the page has only then. */
  readonly may: (permission: Permission) => boolean
  readonly parts: ApiParts
  readonly texts: Translator
  readonly request: EndpointRequest
}

interface Declared<Input> {
  /** Below `consolePath`. `{name}` stands for one segment, percent-encoded. */
  readonly path: string
  /** `operator`: every operator. */
  readonly permission: Permission | 'operator'
  /** Absent for pages outside of the navigation. */
  readonly section?: ConsoleSection
  /** The schema of the query or the form, whose members are texts before it reads them. */
  readonly input?: z.ZodType<Input>
}

/** A page of the console, at GET. */
export interface ConsolePage extends Declared<unknown> {
  readonly method: 'GET'
  answer(call: ConsoleCall<never>): Promise<ConsoleOutcome | ConsoleFile>
}

/** A form of the console, at POST. */
export interface ConsoleForm extends Declared<unknown> {
  readonly method: 'POST'
  answer(call: ConsoleCall<never>): Promise<ConsoleOutcome>
}

export type ConsoleRoute = ConsolePage | ConsoleForm

/** Throws `Problem` for what the page cannot show, and `Unavailable`. */
export const definePage = <Input = undefined>(
  declared: Declared<Input>,
  answer: (call: ConsoleCall<Input>) => Promise<ConsoleOutcome | ConsoleFile>,
): ConsoleRoute => ({ ...declared, method: 'GET', answer })

/** `answer` makes the change. It throws `Problem` for a refusal, and `Unavailable`. */
export const defineForm = <Input = undefined>(
  declared: Declared<Input>,
  answer: (call: ConsoleCall<Input>) => Promise<ConsoleOutcome>,
): ConsoleRoute => ({ ...declared, method: 'POST', answer })
