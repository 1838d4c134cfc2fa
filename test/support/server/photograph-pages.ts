import { mkdirSync, writeFileSync } from 'node:fs'
import { findService } from '../services/table.js'
import { everyPage } from './every-page.js'
import { findFaultsOf, showings } from './page-faults.js'
import { openPagesBrowser, type PagesBrowser } from './pages-browser.js'

// `npm run pages -- FOLDER [NAME …]` shows every page, or those whose names begin so, in every language, narrow and wide,
// light and dark. It keeps a picture of each with an index.html, and says what axe-core finds and what does not fit.

const [folder, ...beginnings] = process.argv.slice(2)

interface Shot {
  readonly language: string
  readonly name: string
  readonly html: string
}

/** Beside each other, as somebody looks at them: a row for each page and way to show it, a column for each language. */
const writeIndex = (into: string, languages: readonly string[], names: readonly string[]): void => {
  const rows = names.flatMap((name) =>
    showings.map(({ width, colorScheme }) => {
      const file = `${name}-${String(width)}-${colorScheme}`
      const cells = languages.map((language) => {
        const path = `${language}/${file}.png`
        return `<td><a href="${path}"><img src="${path}" alt="" loading="lazy"></a></td>`
      })
      return `<tr><th>${name}<br>${String(width)} ${colorScheme}</th>${cells.join('')}</tr>`
    }),
  )
  const style = 'body{font:14px sans-serif} td{vertical-align:top} img{width:16vw;border:1px solid #999}'
  const head = `<tr><th></th>${languages.map((language) => `<th>${language}</th>`).join('')}</tr>`
  writeFileSync(
    `${into}/index.html`,
    `<!doctype html><meta charset="utf-8"><title>Pages</title><style>${style}</style><table>${head}${rows.join('\n')}</table>\n`,
  )
}

/** Takes shots until there are none. Returns what is wrong, by the shot. */
const photograph = async (opened: PagesBrowser, shots: Iterator<Shot>, into: string): Promise<readonly string[]> => {
  const show = await opened.openTab()
  const found: string[] = []
  for (let next = shots.next(); next.done !== true; next = shots.next()) {
    const { language, name, html } = next.value
    const { complaints } = await show(html, async (page) => {
      const spoken = await page.evaluate<string>(
        'document.documentElement.lang + " " + getComputedStyle(document.body).direction',
      )
      if (spoken !== `${language} ${language === 'ar' ? 'rtl' : 'ltr'}`) found.push(`${language} ${name}: is ${spoken}`)
      for (const showing of showings)
        for (const fault of await findFaultsOf(page, showing, `${into}/${language}`, name))
          found.push(`${language} ${name} ${String(showing.width)} ${showing.colorScheme}: ${fault}`)
    })
    found.push(...complaints.map((complaint) => `${language} ${name}: ${complaint}`))
  }
  return found
}

const run = async (into: string): Promise<number> => {
  const executablePath = findService('chromium')
  if (executablePath === undefined) throw new Error('There is no Chromium.')
  await using opened = await openPagesBrowser(executablePath)
  const spoken = await everyPage(opened.server.origin)
  const isWanted = (name: string) =>
    beginnings.length === 0 || beginnings.some((beginning) => name.startsWith(beginning))
  const shots = [...spoken].flatMap(([language, samples]) =>
    [...samples].filter(([name]) => isWanted(name)).map(([name, html]) => ({ language, name, html })),
  )
  if (shots.length === 0) throw new Error('No page has a name that begins so.')
  mkdirSync(into, { recursive: true })
  const left = shots.values()
  const found = (await Promise.all([1, 2].map(() => photograph(opened, left, into)))).flat()
  writeIndex(into, [...spoken.keys()], [...new Set(shots.map(({ name }) => name))])
  for (const fault of found) console.error(fault)
  console.log(
    `${String(shots.length * showings.length)} combinations, ${String(found.length)} faults. Look at ${into}/index.html`,
  )
  return found.length === 0 ? 0 : 1
}

if (folder === undefined) {
  console.error('Usage: npm run pages -- FOLDER [NAME …]')
  process.exitCode = 2
} else process.exitCode = await run(folder)
