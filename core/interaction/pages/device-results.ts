import type { DeviceResultPage } from './pages.js'

interface Result {
  readonly title: string
  readonly message: string
  /** Shown where something was decided. */
  readonly mark?: 'good' | 'bad'
  /** What to do where the person wants to connect the device after all. */
  readonly next?: string
}

const newCode = 'To connect your device, ask it for a new code and enter that one.'

/** What became of a device's request, and what to do now. */
export const deviceResults: Readonly<Record<DeviceResultPage['outcome'], Result>> = {
  approved: {
    title: 'Device connected',
    mark: 'good',
    message: 'Return to your device; it continues automatically in a few seconds. You can close this page.',
  },
  denied: {
    title: 'Device refused',
    mark: 'bad',
    message: 'The device has no access to your account. You can close this page.',
  },
  expired: {
    title: 'This code has expired',
    message: 'A code is valid for only a few minutes.',
    next: newCode,
  },
  used: {
    title: 'This code has already been used',
    message: 'Each code connects one device once. If you used it, there is nothing left to do here.',
    next: 'If your device is still waiting, ask it for a new code and enter that one.',
  },
  denied_before: {
    title: 'This request was already denied',
    mark: 'bad',
    message: 'A decision cannot be changed. Start again on your device.',
    next: newCode,
  },
}
