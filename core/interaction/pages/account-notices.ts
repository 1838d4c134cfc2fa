/** The text that the page shows after an action (`notice.{name}`), and the part that it concerns. */
export const accountNotices = {
  session_ended: 'sessions',
  session_gone: 'sessions',
  others_ended: 'sessions',
  access_withdrawn: 'applications',
  access_gone: 'applications',
  approval_denied: 'approvals',
  approval_gone: 'approvals',
  device_revoked: 'devices',
  device_gone: 'devices',
  password_changed: 'password',
  passkey_added: 'passkeys',
  passkey_renamed: 'passkeys',
  passkey_removed: 'passkeys',
  passkey_gone: 'passkeys',
  totp_there: 'totp',
  totp_removed: 'totp',
} as const

export type AccountNotice = keyof typeof accountNotices

/** Tells whether this is the name of a notice, and not a property that every object has. */
export const isAccountNotice = (name: string): name is AccountNotice => Object.hasOwn(accountNotices, name)
