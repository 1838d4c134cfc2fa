import type { LoginPage, MethodOnPage } from '../../../core/interaction/pages/login-page.js'

/** A login page with a password and nothing else. */
export const onlyPassword = (state: Partial<MethodOnPage> = {}): Pick<LoginPage, 'methods'> => ({
  methods: [{ id: 'password', ask: { kind: 'password' }, ...state }],
})
