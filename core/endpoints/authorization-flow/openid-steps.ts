import type { Prompt } from '../../oauth/requests/authorization-request.js'
import { readWantedAcr } from '../../oauth/requests/authentication-context.js'
import { demandedSubject, parseClaimsParameter } from '../../oauth/requests/claims-parameter.js'
import { hasUnseen } from '../../plain-text.js'
import { invalidRequest, nothing, type StepResult, type Step, type StepInput } from './step.js'

/** A parameter of bounded length. Invisible characters must not get into pages or tokens. */
const readText = ({ params }: StepInput, name: string, maxLength: number): string | undefined => {
  const text = params.values.get(name)
  if (text === undefined) return undefined
  if (text.length > maxLength || hasUnseen(text)) invalidRequest(`The parameter ${name} is malformed.`)
  return text
}

const found = <Name extends keyof StepResult>(name: Name, value: StepResult[Name]): StepResult =>
  value === undefined ? nothing : { [name]: value }

export const readNonce: Step = (input) => found('nonce', readText(input, 'nonce', 512))

const prompts: ReadonlySet<string> = new Set<Prompt>(['none', 'login', 'consent', 'select_account'])
const isPrompt = (name: string): name is Prompt => prompts.has(name)

/** `none` cannot be combined (OIDC Core §3.1.2.1). */
export const readPrompt: Step = ({ params }) => {
  const names = [...new Set(params.values.get('prompt')?.split(' ').filter(Boolean))]
  const prompt = names.filter(isPrompt)
  if (prompt.length < names.length) invalidRequest('The parameter prompt has an unknown value.')
  if (prompt.includes('none') && prompt.length > 1)
    invalidRequest('The prompt none cannot be combined with another value.')
  return { prompt }
}

export const readMaxAge: Step = ({ params, client }) => {
  const text = params.values.get('max_age')
  if (text === undefined) return found('maxAge', client.default_max_age)
  if (!/^\d{1,10}$/.test(text)) invalidRequest('The parameter max_age must be a number of seconds.')
  return { maxAge: Number(text) }
}

const displays = new Set(['page', 'popup', 'touch', 'wap'])

/** Our pages suit every display (OIDC Core §3.1.2.1). */
export const checkDisplay: Step = (input) => {
  const display = readText(input, 'display', 16)
  if (display !== undefined && !displays.has(display)) invalidRequest('The parameter display has an unknown value.')
  return nothing
}

export const readLoginHint: Step = (input) => found('loginHint', readText(input, 'login_hint', 256))

const languageTag = /^[a-z]{2,8}(?:-[a-z\d]{1,8}){0,4}$/i

export const readLocale: Step = (input) => {
  const tags = readText(input, 'ui_locales', 256)?.split(' ')
  const locale = tags?.filter((tag) => languageTag.test(tag)).join(' ')
  return found('locale', locale === '' ? undefined : locale)
}

export const readClaims: Step = ({ params, client, rules }) => {
  const text = params.values.get('claims')
  if (text === undefined) return nothing
  // Filtered here, so that people are not asked to allow what is never released, and no consent to it is remembered.
  const requestedClaims = rules.releases.releasable(parseClaimsParameter(text), client)
  return { requestedClaims, ...found('subject', demandedSubject(requestedClaims)) }
}

/** Comes after `claims`, whose `acr` takes precedence (OIDC Core §5.5.1.1, RFC 9470 §4). */
export const readAcrValues: Step = (input) => {
  const { client, before, rules } = input
  const sent = { acrValues: readText(input, 'acr_values', 1024), claims: before.requestedClaims }
  return found('wantedAcr', readWantedAcr(rules.acrs, sent, client.default_acr_values))
}

/** It must be ours and issued to this client: another client's token is not a hint of this one. */
export const readIdTokenHint: Step = async ({ params, client, before, rules }) => {
  const token = params.values.get('id_token_hint')
  if (token === undefined) return nothing
  const hint = await rules.verifyIdTokenHint(token)
  if (hint === undefined || ![hint.aud].flat().includes(client.client_id))
    return invalidRequest('The id_token_hint is not an ID Token that was issued to this client.')
  if (before.subject !== undefined && before.subject !== hint.sub)
    return invalidRequest('The id_token_hint and the claim sub name different subjects.')
  return { subject: hint.sub }
}
