import { isRefusal } from '../../administration/administration.js'
import { listApprovals } from '../../administration/approvals.js'
import { findAttention, type Attention } from '../../administration/attention.js'
import { listWaitingEnrolments } from '../../administration/enrolments.js'
import { forecastSlots, readKnownKeys } from '../../administration/key-forecast.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import type { SharedFigures } from '../../collections/shared-figures.js'
import type { Figures } from '../../observe/figures.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { timeCell } from '../cells.js'
import { definePage } from '../console-page.js'

const hrefs: Readonly<Record<Attention['kind'], string>> = {
  component_down: '/configuration',
  reload_refused: '/configuration',
  slot_overdue: '/keys',
  key_untrusted: '/keys',
  circuit_open: '/signers',
  key_ends: '/keys',
  certificate_ends: '/configuration',
  replica_differs: '/configuration',
  share_full: '/configuration',
  approvals_wait: '/approvals',
  enrolments_wait: '/devices',
}

/** More approvals than these are not counted. */
const mostCounted = 100

const attentionOf = async (parts: ApiParts, figures: SharedFigures): Promise<readonly Attention[]> => {
  const { config, running, clock, stores, checked } = parts
  const [known, waiting, approvals] = await Promise.all([
    readKnownKeys(stores),
    listWaitingEnrolments(running.secondFactors),
    listApprovals(parts, undefined, mostCounted),
  ])
  const { slots } = forecastSlots(config, known, { modules: checked.modules, months: 1 }, clock())
  return findAttention({
    ...{ config, slots, figures, now: clock(), ...running.keys() },
    readiness: running.readiness(),
    refusedReload: running.refusedReload(),
    shares: running.shares(),
    waitingApprovals: approvals.filter(({ state, isExpired }) => state === 'waiting' && !isExpired).length,
    waitingEnrolments: isRefusal(waiting) ? 0 : waiting.filter(({ approved }) => approved !== true).length,
  })
}

const attentionItem = (texts: Translator, { kind, severity, name, detail, at }: Attention) => ({
  severity,
  href: hrefs[kind],
  text: texts.text(`attention.${kind}`, { name }),
  detail,
  time: at === undefined ? undefined : timeCell(texts, at).time,
})

/** The last whole minute, since the current one is not over. */
const lastMinute = (minutes: readonly Figures[], now: number): Figures | undefined =>
  minutes.findLast(({ at }) => at + 60_000 <= now)

export const overviewPages = [
  definePage({ path: '', permission: 'operator', section: 'overview' }, async ({ parts, texts, may }) => {
    // An operator who does not see the service begins with people, whom the others see.
    if (!may('service.read')) return { to: may('people.read') ? '/people' : '/credentials' }
    const { running, clock } = parts
    const figures = await running.figures()
    const { minutes, processes } = figures
    const attention = await attentionOf(parts, figures)
    const last = lastMinute(minutes, clock())
    const perSecond = (count: number | undefined): string => ((count ?? 0) / 60).toFixed(1)
    const { ready } = running.readiness()
    return {
      view: 'overview',
      title: texts.text('nav.overview'),
      data: {
        ...{ script: 'console-figures.js', sheet: 'uplot-style.css' },
        attention: attention.map((one) => attentionItem(texts, one)),
        state: ready
          ? { tone: 'good', text: texts.text('overview.ready') }
          : { tone: 'bad', text: texts.text('overview.not_ready') },
        figures: [
          ['tokens', perSecond(last?.tokens)],
          ['refusals', perSecond(last?.refusals)],
          ['requests', perSecond(last?.requests)],
          ['p99', last === undefined || last.requests === 0 ? '–' : String(last.p99)],
          ['processes', String(processes.length)],
        ].map(([name = '', value]) => ({
          name,
          value,
          title: texts.text(`overview.${name}`),
          unit: texts.text(`overview.${name}.unit`),
        })),
        signers: running.keys().signers.map(({ name, circuit, waiting }) => ({
          ...{ name, waiting },
          tone: { closed: 'good', half_open: 'warn', open: 'bad' }[circuit],
          circuit: texts.text(`signers.circuit.${circuit}`),
        })),
      },
    }
  }),
]
