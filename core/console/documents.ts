import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Problem } from '../admin-api/problem.js'
import { isoTime } from '../clock.js'
import { createChooseLanguage } from '../interaction/languages/choose-language.js'
import { createTranslator, type Translator } from '../interaction/languages/translator.js'
import { createAsset, loadAssets, type Asset } from '../interaction/pages/load-assets.js'
import { compileTemplates, type Render } from '../interaction/pages/templates.js'
import { plainTheme } from '../interaction/pages/theme.js'
import { readViewsOf } from '../interaction/pages/view-files.js'
import type { OperatorIdentity } from '../operators/operator.js'
import type { Permission } from '../operators/permissions.js'
import { packageRoot } from '../package-root.js'
import { consolePath, type ConsoleSection, type ConsoleView } from './console-page.js'

const folder = (name: string): string => join(packageRoot, 'core/console', name)

/** The languages of the console, the default first. */
export const consoleLanguages = ['en', 'de', 'fr', 'es', 'ar'] as const

const readTexts = (language: string): readonly (readonly [key: string, text: string])[] => {
  const path = join(folder('messages'), language)
  if (!existsSync(path)) return []
  return readdirSync(path).flatMap((file) =>
    Object.entries(JSON.parse(readFileSync(join(path, file), 'utf8')) as Record<string, string>),
  )
}

/** Reads the texts of the console in one language, by key: a file for each part. English supplies what it lacks. */
export const readConsoleTexts = (language: string): ReadonlyMap<string, string> =>
  new Map([...readTexts('en'), ...readTexts(language)])

/** Each entry of the navigation with the permission of its page. */
const navigation: readonly (readonly [ConsoleSection, Permission])[] = [
  ['overview', 'service.read'],
  ['approvals', 'approvals.read'],
  ['keys', 'keys.read'],
  ['signers', 'keys.read'],
  ['clients', 'clients.read'],
  ['people', 'people.read'],
  ['devices', 'principals.read'],
  ['registrations', 'registrations.read'],
  ['audit', 'audit.read'],
  ['configuration', 'configuration.read'],
  ['operators', 'operators.read'],
]

/** The place at which a page is shown, and the operator who sees it. */
export interface ShownAt {
  readonly section?: ConsoleSection | undefined
  /** The path of `admin.base_url`, before every link. */
  readonly base: string
  readonly operator?: OperatorIdentity | undefined
  /** The key of the notice that a form has left. An unknown one shows nothing. */
  readonly notice?: string | undefined
}

/** The console in one language. */
export interface SpokenConsole {
  readonly language: string
  readonly texts: Translator
  /** Returns a complete document. */
  show(view: ConsoleView, at: ShownAt): string
  /** The page for a refusal. */
  problem(problem: Pick<Problem, 'status' | 'code' | 'message' | 'details'>, requestId: string): ConsoleView
}

export interface ConsoleDocuments {
  for(acceptLanguage: string | undefined): SpokenConsole
}

/** The files that the pages link to: those of the public pages, and the console's own. */
export const loadConsoleAssets = (): ReadonlyMap<string, Asset> =>
  new Map([...loadAssets(folder('assets')), ...plotFiles.flatMap(loadPlotFile)])

/** The library that draws the figures of the overview, as it is built for browsers. */
const plotFiles = ['uplot.js', 'uplot-style.css'] as const

const loadPlotFile = (name: string): readonly (readonly [string, Asset])[] => {
  const asset = createAsset(name, readFileSync(join(packageRoot, 'dist/browser', name)))
  return asset === undefined ? [] : [[name, asset]]
}

export interface DocumentOptions {
  readonly assets: ReadonlyMap<string, Asset>
  /** The path of `admin.base_url`, before every link. */
  readonly base: string
  /** The name of the deployment: its issuer's host, or the name on its pages. */
  readonly name: () => string
}

/** Creates the documents of the console. A language is compiled when it is first asked for. */
export const createConsoleDocuments = ({ assets, base, name }: DocumentOptions): ConsoleDocuments => {
  const choose = createChooseLanguage(consoleLanguages)
  let renderIn: ReturnType<typeof compileTemplates> | undefined
  const known = new Map<string, SpokenConsole>()
  const speak = (language: string): SpokenConsole => {
    renderIn ??= compileTemplates({
      ...{ theme: plainTheme, name: 'Signet', assets, assetsPath: `${base}${consolePath}/assets` },
      views: readViewsOf(folder('views')),
    })
    const texts = createTranslator(language, readConsoleTexts(language))
    return createSpokenConsole(texts, renderIn(texts), name)
  }
  return {
    for(acceptLanguage) {
      const language = choose({ acceptLanguage })
      const spoken = known.get(language) ?? speak(language)
      known.set(language, spoken)
      return spoken
    },
  }
}

const createSpokenConsole = (texts: Translator, render: Render, name: () => string): SpokenConsole => {
  const keys = new Set(readConsoleTexts(texts.language).keys())
  return {
    language: texts.language,
    texts,
    show: ({ view, title, data }, { section, base, operator, notice = '' }) =>
      render(view, {
        title,
        ...frameOf(texts, { section, base, operator }),
        deployment: name(),
        notice: keys.has(`notice.${notice}`) ? texts.text(`notice.${notice}`) : undefined,
        ...data,
      }),
    problem: ({ status, code, message, details }, requestId) => ({
      view: 'problem',
      status,
      title: texts.text(status === 404 ? 'problem.not_found' : 'problem.title'),
      data: {
        message: keys.has(`refused.${code}`) ? texts.text(`refused.${code}`) : message,
        errors: details.errors ?? [],
        requestId,
      },
    }),
  }
}

/** Returns the data of the layout, which every page has. */
const frameOf = (texts: Translator, { section, base, operator }: ShownAt) => ({
  base: `${base}${consolePath}`,
  section,
  csrf: operator?.csrf,
  operator: operator && { name: operator.name, roles: operator.roles.join(', ') },
  navigation: navigation
    .filter(([, permission]) => operator?.permissions.has(permission))
    .map(([name]) => ({
      name,
      title: texts.text(`nav.${name}`),
      href: name === 'overview' ? '' : `/${name}`,
      isHere: name === section,
    })),
  /** A time in milliseconds since the epoch, for `<time>`, which a script shows in local time. */
  time: (ms: number) => ({ iso: isoTime(ms), text: texts.time(Math.floor(ms / 1000)) }),
  link: (...segments: readonly string[]) => segments.map((segment) => `/${encodeURIComponent(segment)}`).join(''),
})
