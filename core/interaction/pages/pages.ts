import type { LanguagePreferences } from '../languages/choose-language.js'
import { accountPage } from './account-view.js'
import { consentPage } from './consent-page.js'
import { deviceConfirmPage } from './device-confirm-page.js'
import { devicePage } from './device-page.js'
import { deviceResultPage } from './device-result-page.js'
import { errorPage } from './error-page.js'
import { formPostPage } from './form-post-page.js'
import { leavingPage } from './leaving-page.js'
import { loginPage } from './login-page.js'
import { logoutPage } from './logout-page.js'
import type { PageKind } from './page.js'
import { recoveryPage } from './recovery-page.js'
import { selectPage } from './select-page.js'
import { signedOutPage } from './signed-out-page.js'

/** Every page, under the name that endpoints use for it. */
export const pageKinds = {
  login: loginPage,
  select: selectPage,
  consent: consentPage,
  device: devicePage,
  deviceConfirm: deviceConfirmPage,
  deviceResult: deviceResultPage,
  logout: logoutPage,
  signedOut: signedOutPage,
  account: accountPage,
  recovery: recoveryPage,
  error: errorPage,
  leaving: leavingPage,
  formPost: formPostPage,
}

type PageOf<Kind> = Kind extends PageKind<infer Page> ? Page : never

/**
 * The pages in one language. Each returns a complete HTML document that works without JavaScript, and escapes every
 * value.
 */
export type SpokenPages = {
  readonly [Name in keyof typeof pageKinds]: (page: PageOf<(typeof pageKinds)[Name]>) => string
} & {
  /** A language tag (RFC 5646), for `Content-Language`. */
  readonly language: string
}

/** The built-in pages. Used directly, they are in the first language of the deployment. */
export type Pages = SpokenPages & {
  /** Returns the pages in the language that fits best. */
  for(preferences: LanguagePreferences): SpokenPages
}
