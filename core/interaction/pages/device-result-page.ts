import type { ClientOnPage } from './client-on-page.js'
import { definePage } from './page.js'
import { sample } from './sample.js'

export interface DeviceResultPage {
  /** The first two follow a decision. With the others there is nothing left to decide. */
  readonly outcome: 'approved' | 'denied' | 'expired' | 'used' | 'denied_before'
  /** With the first two outcomes, the client that the device belongs to. */
  readonly client?: ClientOnPage
  /** The URL where another code can be typed. */
  readonly startUrl: string
}

interface Result {
  /** Shown when something was decided. */
  readonly mark?: 'good' | 'bad'
  /** The page says what to do if the person still wants to connect the device. */
  readonly hasNext?: true
}

/** How a device's request ended. Its texts are `device_result.{outcome}.title`, `.message` and `.next`. */
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
