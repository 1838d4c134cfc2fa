import type { DeviceResultPage } from '../pages.js'

interface Result {
  readonly title: string
  readonly message: string
  /** What to do where the person wants to connect the device after all. */
  readonly next?: string
}

const newCode = 'To connect your device, ask it for a new code, and type that one.'

/** What became of a device's request, and what to do now. */
export const deviceResults: Readonly<Record<DeviceResultPage['outcome'], Result>> = {
  approved: {
    title: 'Device connected',
    message: 'Go back to your device: it goes on by itself in a few seconds. You can close this page.',
  },
  denied: {
    title: 'Device refused',
    message: 'The device gets no access to your account. You can close this page.',
  },
  expired: {
    title: 'This code has expired',
    message: 'A code is good for a few minutes only, and the time of this one is over.',
    next: newCode,
  },
  used: {
    title: 'This code was used before',
    message: 'Each code connects one device once. If it was you, there is nothing left to do here.',
    next: 'If your device still waits, ask it for a new code, and type that one.',
  },
  denied_before: {
    title: 'This code was refused before',
    message: 'Somebody has answered no for this device, and that stays.',
    next: newCode,
  },
}
