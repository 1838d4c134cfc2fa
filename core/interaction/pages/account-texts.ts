/** `24 hours`. */
const durationText = (seconds: number): string => {
  const [count, unit] =
    seconds >= 2 * 3600 ? [Math.ceil(seconds / 3600), 'hours'] : [Math.ceil(seconds / 60), 'minutes']
  return `${count} ${unit}`
}

/** Every text of the person's own page, so that further languages are further tables. */
export const accountTexts = {
  title: 'Your account',
  signOut: 'Sign out',
  back: 'Back to your account',
  more: 'Show more',
  sessions: {
    title: 'Where you are signed in',
    lead: 'If you do not recognise one of these browsers, sign out there.',
    here: 'This browser',
    unknown: 'Unknown browser',
    since: 'Signed in',
    end: 'Sign out there',
    endOthers: 'Sign out everywhere else',
    endOthersWhat:
      'This ends your sessions in all other browsers, and the access of the applications that you opened there. Applications that may use your account while you are away keep their access.',
    onlyHere: 'You are signed in nowhere else.',
  },
  applications: {
    title: 'Applications with access',
    lead: 'What you have allowed applications to do for you.',
    none: 'No application has access to your account.',
    since: 'Access since',
    remembered: 'It has no access now, and need not ask you again.',
    returns: 'It belongs to this service: when you open it again, it has access again.',
    can: 'It can',
    more: (count: number) => `and ${count} more`,
    withdraw: 'Withdraw access',
    withdrawWhat:
      'It can no longer use your account, and has to ask you again. It may keep what it has already received.',
  },
  devices: {
    title: 'Devices',
    lead: 'Devices and services that hold a key for your account.',
    none: 'No device holds a key for your account.',
    types: { device: 'Device', service: 'Service' },
    since: 'Enrolled',
    renewed: 'Last renewed',
    revoked: 'Revoked',
    revoke: 'Revoke',
    revokeWhat: (seconds: number) =>
      `It can renew no more, and only your provider can allow it again. What it holds now may be accepted for up to ${durationText(seconds)}.`,
  },
  password: {
    title: 'Password',
    lead: 'A new password signs you out in all other browsers and ends the access of all applications. You stay signed in here.',
    fixed: 'Your provider sets the password of this account. You cannot change it here.',
    fields: {
      current_password: 'Current password',
      new_password: 'New password',
      new_password_again: 'New password, once more',
    },
    change: 'Change password',
    wrong: 'This is not your current password.',
    different: 'The two new passwords differ.',
    unacceptable: (fault: string) => `The new password ${fault}.`,
  },
} as const

/** What the page says of an action, in the part that it is about. */
export const accountNotices = {
  session_ended: { section: 'sessions', text: 'That browser is signed out.' },
  session_gone: { section: 'sessions', text: 'That browser was signed out already.' },
  others_ended: { section: 'sessions', text: 'You are signed out everywhere else.' },
  access_withdrawn: { section: 'applications', text: 'The application has no access any more.' },
  device_revoked: { section: 'devices', text: 'The device can renew no more.' },
  device_gone: { section: 'devices', text: 'The device was revoked already.' },
  password_changed: {
    section: 'password',
    text: 'Your password is changed. You are signed out everywhere else, and no application has access any more.',
  },
  access_gone: { section: 'applications', text: 'The application had no access any more.' },
} as const

export type AccountNotice = keyof typeof accountNotices

/** Is this the name of a notice, and not one that every object has? */
export const isAccountNotice = (name: string): name is AccountNotice => Object.hasOwn(accountNotices, name)

const times = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })

/** The time of no place in particular: nobody has told where the person is. */
export const timeText = (seconds: number): string => `${times.format(seconds * 1000)} UTC`

/** `Firefox on Windows`. */
export const browserText = ({ browser, system }: { readonly browser?: string; readonly system?: string }): string => {
  if (browser === undefined && system === undefined) return accountTexts.sessions.unknown
  if (system === undefined) return browser ?? ''
  return browser === undefined ? `A browser on ${system}` : `${browser} on ${system}`
}
