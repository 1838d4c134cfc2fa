import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { packageRoot } from '../../core/package-root.js'
import { errorPage } from '../../core/interaction/pages/error-page.js'
import { loginPage } from '../../core/interaction/pages/login-page.js'
import { logoutPage } from '../../core/interaction/pages/logout-page.js'
import { checkLook, problemsOf } from '../support/server/check-look.js'
import { onlyPassword } from '../support/server/only-password.js'

describe('ui.templates', () => {
  const ui = 'ui: { templates: ./brand/templates }'
  const view = (name: string) => readFileSync(join(packageRoot, 'core/interaction/views', `${name}.eta`), 'utf8')
  const template = (name: string, change: (text: string) => string) => {
    const changed = change(view(name))
    expect(changed).not.toBe(view(name))
    return { [`brand/templates/${name}.eta`]: changed }
  }

  it('replaces a view, and leaves the others', async () => {
    const more = template('logout', (text) => text.replace('</h1>', '</h1><p>Thank you for banking with us.</p>'))
    expect(await problemsOf(ui, more)).toEqual([])
    const { theme } = await checkLook(ui, more)
    const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), theme })
    const logout = { action: '/post', csrf: 'c', account: { name: 'Alice' }, others: [], parameters: {} }
    expect(pages.show(logoutPage, logout)).toContain('Thank you for banking with us.')
    expect(pages.show(loginPage, { ...onlyPassword(), action: '/post', csrf: 'c' })).not.toContain('Thank you')
  })

  it('accepts the views of Signet themselves, attributes in another order, and any way to quote them', async () => {
    const more = template('device', (text) =>
      text.replace(
        /<input type="hidden" name="csrf" value="([^"]*)">/,
        `<input value='$1' name=csrf type=hidden><!-- <style> -->`,
      ),
    )
    const all = ['layout', 'login', 'consent', 'select', 'error', 'your-account', 'form-post', 'home'].map(
      (name) => [`brand/templates/${name}.eta`, view(name)] as const,
    )
    expect(await problemsOf(ui, { ...Object.fromEntries(all), ...more, 'brand/templates/.DS_Store': '' })).toEqual([])
  })

  it.each([
    [/^logn\.eta is no template of Signet: .*login/, () => ({ 'brand/templates/logn.eta': 'x' })],
    [/^demo\.eta is no template of Signet/, () => ({ 'brand/templates/demo.eta': 'x' })],
    [/^cannot be compiled: login\.eta: /, () => ({ 'brand/templates/login.eta': '<% if (it.client { %>' })],
    [
      /^the page device cannot be rendered: /,
      () => template('device', (text) => text.replace('<h1>', '<h1><%= it.nobody.name %>')),
    ],
    [
      /^the page device lacks the hidden field csrf=csrf-of-the-sample in its form$/,
      () => template('device', (text) => text.replace(/<input type="hidden" name="csrf"[^\n]*/, '')),
    ],
    [
      /^the page device lacks the hidden field csrf=csrf-of-the-sample in its form$/,
      () => template('device', (text) => text.replace(/(<input type="hidden" name="csrf"[^\n]*)/, '<!-- $1 -->')),
    ],
    [
      /^the page device lacks the hidden field csrf=csrf-of-the-sample in its form$/,
      () => template('device', (text) => text.replace(/(<form [^\n]*)\n(<input type="hidden"[^\n]*)/, '$2$1')),
    ],
    [
      /^the page device lacks the hidden field csrf=csrf-of-the-sample in its form$/,
      () => template('device', (text) => text.replace(/(<input type="hidden"[^\n]*)([^]*<\/form>)/, '$2$1')),
    ],
    [
      /^the page device lacks a form with the method and the action that it is given \(here post \/form\)$/,
      () => template('device', (text) => text.replace('action="<%= it.action %>"', 'action="/device"')),
    ],
    [
      /^the page device lacks the button #device-continue in its form$/,
      () => template('device', (text) => text.replace('id="device-continue"', 'id="go"')),
    ],
    [
      /^the page device lacks the field user_code in its form$/,
      () => template('device', (text) => text.replace('name="user_code"', 'name="code"')),
    ],
    [
      /^the page device in ar lacks the field user_code in its form$/,
      () =>
        template('device', (text) => text.replace('name="user_code"', `<% if (it.language !== 'ar') { %>$&<% } %>`)),
    ],
    [
      /^the page device in de cannot be rendered: There is no text bank\.hello\.$/,
      () =>
        template('device', (text) => text.replace('<h1>', `<h1><% if (it.language === 'de') it.t('bank.hello') %>`)),
    ],
    [
      /^the page form-post lacks the script form-post\.js$/,
      () => template('form-post', (text) => text.replace(/<script.*/, '')),
    ],
    [
      /^the page device has a script within the page, which the security policy of the pages blocks$/,
      () => template('device', (text) => `${text}<script>track()</script>`),
    ],
    [
      /^the page device has a script within the page, onclick, which/,
      () => template('device', (text) => text.replace('<h1', '<h1 onclick="track()"')),
    ],
    [
      /^the page device loads a script from elsewhere, which/,
      () => template('device', (text) => `${text}<script src="https://elsewhere.example/a.js"></script>`),
    ],
    [
      /^the page device loads a stylesheet from elsewhere, which/,
      () => template('device', (text) => `${text}<link rel="stylesheet" href="https://elsewhere.example/a.css">`),
    ],
    [
      /^the page device has a style within the page, which/,
      () => template('device', (text) => text.replace('<h1', '<h1 style="color: red"')),
    ],
    [
      /^the page device writes a value without escaping it: use <%= %>, not <%~ %>$/,
      () => template('device', (text) => text.replace('<h1>', '<h1><%~ it.account %>')),
    ],
  ])('refuses what would not work: %s', async (message, more) => {
    const problems = await problemsOf(ui, more())
    expect(problems).toHaveLength(1)
    expect(problems[0]?.replace('ui.templates: ', '')).toMatch(message)
  })

  it('refuses a path that is not a folder', async () => {
    expect(await problemsOf('ui: { templates: ./none }')).toEqual([
      'ui.templates: the folder ./none cannot be read: there is no such file',
    ])
    expect(await problemsOf('ui: { templates: brand/logo.svg }')).toEqual([
      'ui.templates: the folder brand/logo.svg cannot be read: it is no folder',
    ])
  })

  it('shows the page of errors of Signet where that of the deployment fails', async () => {
    const more = template('error', (text) => text.replace('<h1>', '<h1><%= it.clientName.length %>'))
    const { theme } = await checkLook(ui, more)
    const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), theme })
    const shown = { status: 500, title: 'Error', message: 'Something went wrong on the server.', requestId: 'r' }
    expect(pages.show(errorPage, { ...shown, clientName: 'Teller Online' })).toContain('<h1>13Error')
    expect(pages.show(errorPage, shown)).toContain('<h1>Error</h1>')
  })
})
