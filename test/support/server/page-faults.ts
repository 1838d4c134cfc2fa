import axe from 'axe-core'
import { mkdirSync } from 'node:fs'
import type { Page } from 'playwright-core'

const widths = [1280, 375, 320]
const schemes = ['light', 'dark'] as const

/** Where the pages are to be kept as pictures, for people who look at them. */
const pictures = process.env['SIGNET_TEST_SCREENSHOTS']

/** What axe-core finds. It is sent to a document once, being half a megabyte. */
const runAxe = async (page: Page, options: axe.RunOptions): Promise<string[]> => {
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(axe.source)
  return page.evaluate(async (given) => {
    const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document, given)
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`))
  }, options)
}

/** What a page would be worked with by keyboard, as the document has it. */
const findFocusable = `[...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
  .filter((one) => !one.disabled && one.checkVisibility({ visibilityProperty: true }))`

/** Notes what gets the focus, and how thick the line around it is. */
const watchFocus = `(() => {
  const all = ${findFocusable}
  const walk = (window.walk = [])
  document.addEventListener('focusin', ({ target }) => {
    const { outlineStyle, outlineWidth } = getComputedStyle(target)
    walk.push({ at: all.indexOf(target), line: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth), html: target.outerHTML })
  })
  return all.length
})()`

/** Goes round by Tab: everything is reached, in the order of the document, and is seen to have the focus. */
const findKeyboardFaults = async (page: Page): Promise<string[]> => {
  const count = await page.evaluate<number>(watchFocus)
  // Once more than there are, because the browser itself has a turn, and begins where the page put the focus.
  for (let presses = 0; presses < count + 1; presses++) await page.keyboard.press('Tab')
  const walk = await page.evaluate<{ at: number; line: number; html: string }[]>('window.walk')
  // The window that gets the focus back says so of the element that has it, which is no step.
  const order = walk.map(({ at }) => at).filter((at, step, all) => at !== all[step - 1])
  const reached = new Set(order)
  return [
    ...walk.filter(({ line }) => line < 2).map(({ html }) => `no visible focus: ${html}`),
    ...(reached.size < count ? [`Tab reaches ${String(reached.size)} of ${String(count)}`] : []),
    ...(order.some((at, step) => step > 0 && at !== ((order[step - 1] ?? 0) + 1) % count)
      ? [`Tab goes ${order.join(' ')}`]
      : []),
  ]
}

/** Buttons, fields and links that a thumb would miss. Links in the middle of a sentence are as high as it. */
export const findSmallTargets = (page: Page): Promise<string[]> =>
  page.$$eval('button, input:not([type=hidden]), textarea, summary, a', (targets) =>
    targets
      .filter((one) => one.checkVisibility() && getComputedStyle(one).display !== 'inline')
      .filter((one) => one.getBoundingClientRect().height < 44)
      .map((one) => `too small for a thumb: ${one.outerHTML}`),
  )

/** Blocks whose words are wider than they. */
const findLongWords = `[...document.querySelectorAll('main, main *, .brand, .foot')]
  .filter((one) => one.checkVisibility() && !one.closest('svg, .unseen') && !one.matches('input, textarea, pre, [role=region][tabindex="0"]'))
  .filter((one) => one.clientWidth > 0 && one.scrollWidth > one.clientWidth)
  .filter((one, _, all) => !all.some((other) => other !== one && one.contains(other)))
  .map((one) => one.outerHTML.slice(0, 200))`

/** What is wider than the window, or than its place on the page. */
const findOverflow = async (page: Page, width: number): Promise<string[]> => {
  await page.setViewportSize({ width, height: 740 })
  // Drawings that scripts repeat for another width are there with the frame after the next.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
  const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
  // From right to left it begins on the other side.
  const cut = await page.evaluate<number>('-Math.min(0, document.querySelector("main").getBoundingClientRect().left)')
  const long = await page.evaluate<string[]>(findLongWords)
  return [
    ...(overflow + cut > 0 ? [`${String(overflow + cut)} pixels too wide at ${String(width)}`] : []),
    ...long.map((html) => `too long at ${String(width)}: ${html}`),
  ]
}

const keepPicture = async (page: Page, folder: string, name: string): Promise<void> => {
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true })
}

/** How a page is shown on a telephone and on a desk, by day and by night. */
export const showings = [375, 1280].flatMap((width) => schemes.map((colorScheme) => ({ width, colorScheme })))

/** What is wrong with the page in one of `showings`: by axe-core, and by its width. Keeps a picture of it. */
export const findFaultsOf = async (
  page: Page,
  { width, colorScheme }: (typeof showings)[number],
  folder: string,
  name: string,
): Promise<string[]> => {
  await page.emulateMedia({ colorScheme })
  const faults = [...(await findOverflow(page, width)), ...(await runAxe(page, {}))]
  await keepPicture(page, folder, `${name}-${String(width)}-${colorScheme}`)
  return faults
}

/**
 * What is wrong with the page as it stands, narrow and wide, light and dark: by axe-core, by its width, and by keyboard.
 */
export const findPageFaults = async (page: Page, name: string): Promise<string[]> => {
  const faults: string[] = []
  for (const colorScheme of schemes.toReversed()) {
    await page.emulateMedia({ colorScheme })
    // Only colours differ between the two.
    for (const width of colorScheme === 'light' || pictures !== undefined ? widths : [375]) {
      faults.push(...(await findOverflow(page, width)))
      if (pictures !== undefined && width !== 320)
        await keepPicture(page, pictures, `${name}-${String(width)}-${colorScheme}`)
    }
    const rules = colorScheme === 'light' ? {} : ({ runOnly: ['color-contrast'] } satisfies axe.RunOptions)
    faults.push(...(await runAxe(page, rules)).map((fault) => `${colorScheme}: ${fault}`))
  }
  return [...faults, ...(await findKeyboardFaults(page))]
}
