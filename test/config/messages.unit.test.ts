import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { english } from '../../core/interaction/languages/built-in.js'
import { createTranslator } from '../../core/interaction/languages/translator.js'
import { readMessages } from '../../core/modules/read-messages.js'
import { said } from '../../core/oauth/said.js'

describe('texts of a deployment', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'signet-messages-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (name: string, texts: unknown) =>
    writeFileSync(join(folder, name), typeof texts === 'string' ? texts : JSON.stringify(texts))
  const read = (locales?: readonly string[]) => readMessages({ locales, messages: folder }, '/')

  it('change single texts, also those of errors', () => {
    write('en.json', { 'login.title': 'Sign in to the bank', 'said.error': 'Trouble' })
    const { messages, problems, warnings } = read()
    expect([problems, warnings]).toEqual([[], []])
    const words = createTranslator('en', messages.texts.get('en') ?? new Map())
    expect([words.text('login.title'), words.said(said('error')), words.text('login.username')]).toEqual([
      'Sign in to the bank',
      'Trouble',
      'Username',
    ])
    expect(messages.languages).toEqual(['en', 'de', 'fr', 'es', 'ar'])
  })

  it('add a language, and what it lacks is in English', () => {
    write('it.json', { 'login.title': 'Accedi' })
    const { messages, problems, warnings } = read(['it', 'de'])
    expect(problems).toEqual([])
    expect(messages.languages).toEqual(['it', 'de'])
    const words = createTranslator('it', messages.texts.get('it') ?? new Map())
    expect([words.text('login.title'), words.text('login.username')]).toEqual(['Accedi', 'Username'])
    expect(warnings.map(({ path, message }) => [path, message.slice(0, 12)])).toEqual([['ui.messages', 'it.json lack']])
    expect(warnings[0]?.message).toMatch(/common\.account, .* and \d{3} more$/)
    write('it.json', { ...Object.fromEntries(english), 'login.title': 'Accedi' })
    expect(read(['it']).warnings).toEqual([])
    write('it.json', Object.fromEntries([...english].filter(([key]) => key !== 'login.title')))
    expect(read(['it']).warnings[0]?.message).toMatch(/: login\.title$/)
  })

  it('of a country build on those of its language', () => {
    write('de-CH.json', { 'common.help': 'Support' })
    const { messages, problems, warnings } = read()
    expect([problems, warnings]).toEqual([[], []])
    const words = createTranslator('de-CH', messages.texts.get('de-CH') ?? new Map())
    expect([words.text('common.help'), words.text('login.title')]).toEqual(['Support', 'Anmelden'])
  })

  it.each([
    [{ 'login.titel': 'x' }, 'login.titel is no text of the pages; did you mean login.title?'],
    [{ 'login.to_client': 'weiter' }, 'login.to_client lacks {client}'],
    [{ 'login.title': '{client}' }, 'login.title has {client}, which nothing fills in'],
    [{ 'attempts.minutes': 'x' }, 'attempts.minutes goes with a number: write #one, #other …'],
    [{ 'attempts.minutes#other': 'x' }, 'attempts.minutes#other lacks {count}'],
    [{ 'login.title#one': 'x' }, 'login.title#one goes with no number'],
    [{ 'login.title': 1 }, 'login.title must be a text'],
    [[], 'must be an object of texts by key'],
    ['{', 'is not JSON'],
  ])('%j: %s', (texts, fault) => {
    write('de.json', texts)
    expect(read().problems).toEqual([{ path: 'ui.messages', message: `de.json: ${fault}` }])
  })

  it('are in files named after languages, in an existing folder without other files', () => {
    write('german.txt', '')
    expect(read(['en', 'pt']).problems.map(({ path, message }) => [path, message.slice(0, 30)])).toEqual([
      ['ui.messages', 'german.txt is named after no l'],
      ['ui.locales', 'there are no texts in pt: writ'],
    ])
    expect(readMessages({ messages: 'nowhere' }, folder).problems).toEqual([
      { path: 'ui.messages', message: 'cannot be read: there is no such file' },
    ])
  })
})
