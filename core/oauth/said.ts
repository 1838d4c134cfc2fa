import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../package-root.js'

/** Every text of the pages in English, by key. It is used for texts that another language lacks. */
export const english: ReadonlyMap<string, string> = new Map(
  Object.entries(
    JSON.parse(readFileSync(join(packageRoot, 'config/messages/en.json'), 'utf8')) as Record<string, string>,
  ),
)

/** Keys of error texts. Each has a text `said.{key}` in every file of `config/messages`. */
const keys = [
  'authorization_error',
  'sign_in_error',
  'sign_out_error',
  'device_error',
  'account_error',
  'error',
  'page_not_found',
  'no_page',
  'form_expired',
  'no_decision',
  'no_account',
  'no_action',
  'field_twice',
  'no_cookie',
  'sign_in_over',
  'sign_in_used',
  'request_over',
  'signed_in_no_more',
  'no_answer_yet',
  'not_available',
  'account_changed',
  'password_fixed',
  'recovery_over',
  'link_over',
  'too_many_requests',
  'too_many_from_address',
  'too_many_sign_ins',
  'unavailable',
  'failed',
  'malformed',
  'cookies_to_delete',
  'unknown_client',
  'unknown_redirect_uri',
  'password_short',
  'password_long',
  'password_is_username',
  'password_run',
] as const

export type SaidKey = (typeof keys)[number]

/** An error text that pages show in the language of the person. */
export interface Said {
  readonly key: SaidKey
  /** The English text, for everyone who does not see a page. */
  readonly text: string
}

const textOf = (key: SaidKey): string => {
  const text = english.get(`said.${key}`)
  if (text === undefined) throw new Error(`config/messages/en.json lacks said.${key}.`)
  return text
}

const table = Object.fromEntries(keys.map((key) => [key, { key, text: textOf(key) }])) as Record<SaidKey, Said>

export const said = (key: SaidKey): Said => table[key]

export const inEnglish = (words: string | Said): string => (typeof words === 'string' ? words : words.text)
