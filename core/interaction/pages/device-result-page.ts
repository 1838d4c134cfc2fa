import type { ClientOnPage } from './client-on-page.js'
import { definePage } from './page.js'
import { sample } from './sample.js'

export interface DeviceResultPage {
  /** The first two answer a decision; of the others there is nothing to decide any more. */
  readonly outcome: 'approved' | 'denied' | 'expired' | 'used' | 'denied_before'
  /** With the first two: whose device it is. */
  readonly client?: ClientOnPage
  /** Where another code can be typed. */
  readonly startUrl: string
}

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

const outcomes = Object.keys(deviceResults) as DeviceResultPage['outcome'][]

export const deviceResultPage = definePage<DeviceResultPage>({
  view: 'device-result',
  describe: ({ outcome, client, startUrl }, { translator }) => {
    const { mark, hasNext } = deviceResults[outcome]
    const part = (name: string) => translator.text(`device_result.${outcome}.${name}`)
    const said = { title: part('title'), message: part('message'), next: hasNext && part('next') }
    return { ...said, mark, client: client?.name, clientId: client?.clientId, startUrl }
  },
  samples: Object.fromEntries(
    outcomes.map((outcome) => [outcome, { outcome, client: sample.client, startUrl: '/device' }]),
  ),
})
