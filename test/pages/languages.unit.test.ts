import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtIn, english } from '../../core/interaction/languages/built-in.js'
import { createChooseLanguage, textIn } from '../../core/interaction/languages/choose-language.js'
import { createTranslator } from '../../core/interaction/languages/translator.js'
import { accountNotices } from '../../core/interaction/pages/account-notices.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { deviceResults } from '../../core/interaction/pages/device-result-page.js'
import { loadPages } from '../../core/host/load-pages.js'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { said } from '../../core/oauth/said.js'
import { errorPage } from '../../core/interaction/pages/error-page.js'
import { samplePages } from '../support/server/sample-pages.js'

const filesBelow = (folder: string, ending: RegExp): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => readFileSync(join(folder, name), 'utf8'))

const pageSources = [...filesBelow('core/interaction', /\.(?:ts|eta)$/), ...filesBelow('core/endpoints', /\.ts$/)].join(
  '\n',
)
const kinds = await loadPages()
const coreSources = filesBelow('core', /\.ts$/).join('\n')
const base = (key: string): string => key.replace(/#.*/, '')
const placeholders = (text: string): readonly string[] => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).sort()
const others = builtIn.languages.filter((language) => language !== 'en')
const textsOf = (language: string): ReadonlyMap<string, string> => builtIn.texts.get(language) ?? new Map()

/** Keys that the pages put together: `text(`notice.${notice}`)`. */
const putTogether = new Set([
  ...Object.keys(accountNotices).map((name) => `notice.${name}`),
  ...Object.entries(deviceResults).flatMap(([outcome, { hasNext }]) =>
    ['title', 'message', ...(hasNext ? ['next'] : [])].map((part) => `device_result.${outcome}.${part}`),
  ),
  ...['device', 'account', 'confirmation'].map((purpose) => `login.to_${purpose}`),
  ...['sessions', 'applications', 'approvals', 'devices', 'password', 'passkeys', 'totp'].map(
    (section) => `${section}.title`,
  ),
  ...['refused', 'known'].map((problem) => `passkeys.${problem}`),
  ...['device', 'service'].map((type) => `devices.${type}`),
  ...[...english.keys()].filter((key) => {
    const [, kind, name] = /^(scope|claim)\.(.+)$/.exec(key) ?? []
    return kind !== undefined && pageSources.includes(`'${name}'`)
  }),
])

/** Texts of errors: `said('no_page')`, `errorTitle: 'sign_in_error'`. */
const isSaid = (key: string): boolean => new RegExp(`(?:said\\(|errorTitle(?: =|:) )'${key}'`).test(coreSources)

describe('the texts of the pages', () => {
  it('are all used', () => {
    const unused = [...english.keys()].filter((key) =>
      key.startsWith('said.')
        ? !isSaid(key.slice('said.'.length))
        : !pageSources.includes(`'${base(key)}'`) && !putTogether.has(base(key)),
    )
    expect(unused).toEqual([])
  })

  it('are all defined', () => {
    const asked = [...pageSources.matchAll(/(?:\bt|\btext|\bcount|\baround)\(\s*(?:words, )?'([a-z_]+\.[a-z_.]+)'/g)]
    const there = new Set([...english.keys()].map(base))
    const missing = [...asked.map(([, key = '']) => key), ...putTogether].filter((key) => !there.has(key))
    expect(asked.length).toBeGreaterThan(80)
    expect(missing).toEqual([])
  })

  it.each(others)('are the same in %s, with the same placeholders', (language) => {
    const texts = textsOf(language)
    const faults = [...new Set([...english.keys(), ...texts.keys()].map(base))].flatMap((key) => {
      const source = english.get(key) ?? english.get(`${key}#other`)
      if (source === undefined) return [`${key} is unknown`]
      const isCounted = english.has(`${key}#other`)
      const forms = isCounted ? new Intl.PluralRules(language).resolvedOptions().pluralCategories : []
      const keys = isCounted ? forms.map((form) => `${key}#${form}`) : [key]
      return keys.flatMap((one) => {
        const text = texts.get(one)
        if (text === undefined || text === '') return [`${one} is missing`]
        const [given, wanted] = [placeholders(text), placeholders(source)]
        const isSame = one.includes('#') && !one.endsWith('#other') && given.length === 0
        return isSame || given.join() === wanted.join() ? [] : [`${one} has ${given.join()} for ${wanted.join()}`]
      })
    })
    expect(faults).toEqual([])
    expect([...texts.keys()].filter((key) => !english.has(key) && !key.includes('#'))).toEqual([])
  })

  it('are in French with spaces that do not break a line before a mark, and within quotation marks', () => {
    expect([...textsOf('fr')].filter(([, text]) => /[ ][?!:;»]|«[ ]/.test(text))).toEqual([])
  })

  it('are never written in a view', () => {
    const folder = 'core/interaction/views'
    const written = readdirSync(folder).flatMap((name) => {
      const html = readFileSync(join(folder, name), 'utf8')
      const text = html.replaceAll(/<%.*?%>/gs, '').replaceAll(/<[^>]*>/gs, '\n')
      return [...text.matchAll(/\p{L}{3,}/gu)].map(([word]) => `${name}: ${word}`)
    })
    // Names of documents, which are the same in every language.
    expect(written.filter((found) => !/^home\.eta: (?:openid|configuration|jwks|json)$/.test(found))).toEqual([])
  })
})

describe('the language of a page', () => {
  const choose = createChooseLanguage(['en', 'de', 'fr', 'pt-BR'])

  it.each([
    [{}, 'en'],
    [{ acceptLanguage: 'de' }, 'de'],
    [{ acceptLanguage: 'de-CH-1996, fr;q=0.9' }, 'de'],
    [{ acceptLanguage: 'fr;q=0.5, de;q=0.9' }, 'de'],
    [{ acceptLanguage: 'ja, *;q=0.5, FR;q=0.1' }, 'fr'],
    [{ acceptLanguage: 'de;q=0, fr;q=0.1' }, 'fr'],
    [{ acceptLanguage: 'pt-br' }, 'pt-BR'],
    [{ acceptLanguage: 'pt' }, 'en'],
    [{ acceptLanguage: 'de-x-bank' }, 'de'],
    [{ acceptLanguage: ';;,,=q' }, 'en'],
    [{ uiLocales: 'fr de', acceptLanguage: 'de' }, 'fr'],
    [{ uiLocales: 'ja de', acceptLanguage: 'fr' }, 'de'],
    [{ uiLocales: 'ja', acceptLanguage: 'fr' }, 'fr'],
    [{ uiLocales: '-', acceptLanguage: '-' }, 'en'],
  ])('of %j is %s', (wishes, language) => {
    expect(choose(wishes)).toBe(language)
  })

  it('chooses among the texts of the operator, too', () => {
    const texts = { en: 'Pay', de: 'Zahlen' }
    expect(['de', 'de-AT', 'fr', 'en'].map((language) => textIn(language, texts))).toEqual([
      'Zahlen',
      'Zahlen',
      'Pay',
      'Pay',
    ])
    expect(textIn('fr', { de: 'Zahlen' })).toBe('Zahlen')
    expect(textIn('fr', undefined)).toBeUndefined()
  })
})

describe('the pages', () => {
  const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), accountUrl: '/account' })

  it.each(builtIn.languages)('are all in %s', (language) => {
    const spoken = pages.for({ uiLocales: language })
    const texts = textsOf(language)
    const dir = language === 'ar' ? 'rtl' : 'ltr'
    const samples = samplePages(kinds, spoken, 'https://op.example', '/logo.svg')
    for (const html of samples.values()) {
      expect(html).toContain(`<html lang="${language}" dir="${dir}">`)
      expect(html).not.toMatch(/undefined|\{\w+\}/)
    }
    for (const [page, key] of [
      ['login', 'login.username'],
      ['select', 'select.title'],
      ['consent', 'consent.title'],
      ['device-result sample approved', 'device_result.approved.message'],
      ['logout', 'logout.question'],
      ['signed-out', 'signed_out.title'],
      ['account', 'sessions.end_others'],
      ['error', 'error.report'],
      ['form-post sample', 'form_post.lead'],
    ] as const)
      expect(samples.get(page)).toContain(texts.get(key))
  })

  it('write dates, numbers and forms of plurals as the language does', () => {
    const messages = createTranslator('de', textsOf('de'))
    expect(messages.time(1_790_000_000)).toBe('21. September 2026 um 14:13 UTC')
    expect(messages.count('attempts.minutes', 1200)).toContain('1.200 Minuten')
    expect(messages.count('attempts.minutes', 1)).toContain('1 Minute ')
  })

  it('explain an error to people, with the technical part beside it', () => {
    const shown = { status: 400, title: said('sign_in_error'), requestId: 'r' }
    const german = pages.for({ acceptLanguage: 'de' })
    expect(german.show(errorPage, { ...shown, message: said('no_page') })).toContain('Diese Seite gibt es nicht.')
    const unknown = german.show(errorPage, { ...shown, message: 'The parameter claims is malformed.' })
    expect(unknown).toContain('Diese Anfrage kann nicht beantwortet werden.')
    expect(unknown).toContain('<h1>Fehler bei der Anmeldung</h1>')
    expect(unknown).toContain('lang="en" dir="ltr" id="error-detail">The parameter claims is malformed.')
    expect(pages.show(errorPage, { ...shown, message: 'The parameter claims is malformed.' })).not.toContain(
      'error-detail',
    )
  })
})
