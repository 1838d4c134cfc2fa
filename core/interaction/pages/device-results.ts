import type { DeviceResultPage } from './pages.js'

interface Result {
  /** Shown where something was decided. */
  readonly mark?: 'good' | 'bad'
  /** It says what to do where the person wants to connect the device after all. */
  readonly hasNext?: true
}

/** What became of a device's request. Its words are `device_result.{outcome}.title`, `.message` and `.next`. */
export const deviceResults: Readonly<Record<DeviceResultPage['outcome'], Result>> = {
  approved: { mark: 'good' },
  denied: { mark: 'bad' },
  expired: { hasNext: true },
  used: { hasNext: true },
  denied_before: { mark: 'bad', hasNext: true },
}
