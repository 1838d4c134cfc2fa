import { z } from 'zod'
import { forecastSlots, readKnownKeys, type SlotForecast } from '../../administration/key-forecast.js'
import { rotateSlot } from '../../administration/key-slots.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import type { Translator } from '../../interaction/languages/translator.js'
import type { KeyReport } from '../../keys/ring-report.js'
import { code, pathTo, timeCell, type Cell, type Section } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'
import { drawTimeline, type Span, type TimelineRow } from '../timeline.js'

const day = 86_400_000
const behindDays = 90
const aheadDays = 365

const finite = (at: number, otherwise: number): number => (Number.isFinite(at) ? at : otherwise)

/** The life of a key that exists. It is published from its publication on, as far as that is known. */
const spansOf = (
  { notBefore, notAfter, goneAt }: KeyReport,
  publishedAt: number | undefined,
  end: number,
): readonly Span[] => {
  const begins = finite(notBefore, publishedAt ?? 0)
  const ends = finite(notAfter, end)
  return [
    { kind: 'published', from: publishedAt ?? begins, until: begins },
    { kind: 'signing', from: begins, until: ends },
    { kind: 'retired', from: ends, until: finite(goneAt, end) },
  ]
}

const readSlots = async (
  parts: ApiParts,
): Promise<{ readonly slots: readonly SlotForecast[]; readonly publishedAt: (kid: string) => number | undefined }> => {
  const known = await readKnownKeys(parts.stores)
  const { slots } = forecastSlots(parts.config, known, { modules: parts.checked.modules, months: 12 }, parts.clock())
  return { slots, publishedAt: (kid) => known.publications.get(kid)?.first_published }
}

const timelineOf = (
  texts: Translator,
  keys: readonly KeyReport[],
  { slots, publishedAt }: Awaited<ReturnType<typeof readSlots>>,
  now: number,
) => {
  const [from, until] = [now - behindDays * day, now + aheadDays * day]
  const existing = keys.map((key): TimelineRow => ({
    label: key.kid,
    spans: spansOf(key, publishedAt(key.kid), until),
  }))
  const expected = slots.flatMap(({ keys: planned }) =>
    planned
      .filter((key) => key.expected)
      .map(({ kid, not_before = now, not_after = until }): TimelineRow => ({
        label: kid,
        spans: [{ kind: 'expected', from: not_before, until: not_after }],
      })),
  )
  return drawTimeline([...existing, ...expected], { from, until, now, language: texts.language })
}

const tones = { proved: 'good', unproved: 'warn', unopened: 'warn', quarantined: 'bad', refused: 'bad' } as const

/** A key that the file gives no purposes has all but `audit`. */
const manyPurposes = 8

const purposesOf = (texts: Translator, { purposes }: KeyReport): string =>
  purposes.length > manyPurposes ? texts.text('keys.many_purposes') : purposes.join(', ')

const keyRow = (texts: Translator, key: KeyReport): readonly Cell[] => [
  { ...code(key.kid), small: purposesOf(texts, key) },
  { text: key.alg },
  { text: key.signer, href: '/signers' },
  { text: texts.text(`keys.state.${key.state}`) },
  { text: texts.text(`keys.trust.${key.trust}`), tone: tones[key.trust], small: key.reason },
  timeCell(texts, key.notBefore),
  timeCell(texts, key.notAfter),
  timeCell(texts, key.goneAt),
]

const slotSection = (
  texts: Translator,
  { slot, record, waits, overdue, keys }: SlotForecast,
  mayWrite: boolean,
): Section => {
  const signing = record.keys.findLast(({ step }) => step === 'signing')
  const next = keys[keys.findIndex(({ kid }) => kid === signing?.kid) + 1]
  return {
    title: texts.text('keys.slot', { name: slot.slot }),
    facts: [
      [
        texts.text('keys.slot.signs'),
        signing === undefined ? { text: texts.text('keys.slot.none') } : code(signing.kid),
      ],
      [
        texts.text('keys.slot.next'),
        next === undefined
          ? { text: '–' }
          : {
              ...timeCell(texts, next.not_before),
              small: `${next.kid}${next.expected ? ` (${texts.text('keys.expected')})` : ''}`,
            },
      ],
      [texts.text('keys.slot.every'), { text: texts.count('common.days', slot.rotate.every_days) }],
      ...(overdue === undefined
        ? []
        : [
            [
              texts.text('keys.slot.overdue'),
              { ...timeCell(texts, overdue.since), tone: 'bad' as const, small: overdue.reason },
            ] as const,
          ]),
      ...(waits === undefined
        ? []
        : [[texts.text('keys.slot.waits'), { text: waits, tone: 'warn' as const }] as const]),
      ...(record.request === undefined
        ? []
        : [[texts.text('keys.slot.requested'), timeCell(texts, record.request.at)] as const]),
    ],
    links:
      mayWrite && record.released !== true
        ? [{ href: pathTo('keys', 'slots', slot.slot, 'rotate'), title: texts.text('keys.rotate') }]
        : [],
  }
}

const slotOf = async (parts: ApiParts, name: string): Promise<SlotForecast> => {
  const found = (await readSlots(parts)).slots.find(({ slot }) => slot.slot === name)
  if (found === undefined) throw new Problem(404, 'unknown', 'There is no such slot.')
  return found
}

const rotatePath = { path: '/keys/slots/{slot}/rotate', permission: 'keys.write', section: 'keys' } as const

export const keyPages = [
  definePage({ path: '/keys', permission: 'keys.read', section: 'keys' }, async ({ parts, texts, may }) => {
    const { keys } = parts.running.keys()
    const known = await readSlots(parts)
    return {
      view: 'keys',
      title: texts.text('nav.keys'),
      data: {
        timeline: timelineOf(texts, keys, known, parts.clock()),
        table: {
          columns: ['key', 'alg', 'signer', 'state', 'trust', 'from', 'until', 'gone'].map((name) =>
            texts.text(`keys.${name}`),
          ),
          rows: keys.map((key) => keyRow(texts, key)),
        },
        empty: texts.text('keys.none'),
        sections: known.slots.map((slot) => slotSection(texts, slot, may('keys.write'))),
      },
    }
  }),
  definePage(rotatePath, async ({ parts, texts, path }) => {
    const { slot, record, keys } = await slotOf(parts, path('slot'))
    const signing = record.keys.findLast(({ step }) => step === 'signing')
    const next = keys[keys.findIndex(({ kid }) => kid === signing?.kid) + 1]
    const alive = record.keys.filter(({ step }) => step === 'signing' || step === 'published')
    return {
      view: 'confirm',
      title: texts.text('keys.rotate.title', { name: slot.slot }),
      data: {
        crumb: { href: '/keys', title: texts.text('nav.keys') },
        consequences: [
          texts.text('keys.rotate.now', { name: signing?.kid ?? '–' }),
          texts.text('keys.rotate.next', { name: next?.kid ?? '–' }),
          texts.text('keys.rotate.announce', { days: texts.count('common.days', slot.rotate.announce_days) }),
          texts.text('keys.rotate.compromised'),
        ],
        fields: [
          {
            ...{ kind: 'select', name: 'compromised', label: texts.text('keys.rotate.which'), value: '' },
            options: [
              { value: '', title: texts.text('keys.rotate.plain') },
              ...alive.map(({ kid }) => ({ value: kid, title: texts.text('keys.rotate.withdraw', { name: kid }) })),
            ],
          },
        ],
        ...{ action: pathTo('keys', 'slots', slot.slot, 'rotate'), cancel: '/keys', typed: slot.slot },
        button: texts.text('keys.rotate'),
      },
    }
  }),
  defineForm(
    {
      ...rotatePath,
      input: z.strictObject({ typed: z.string().max(512), compromised: z.string().max(512).optional() }),
    },
    async ({ parts, by, path, input }) => {
      const slot = path('slot')
      if (input.typed !== slot) throw new Problem(400, 'name_mismatch', 'The name that was typed is another one.')
      unlessRefused(await rotateSlot(parts, by, { slot, compromised: input.compromised }))
      return { to: '/keys', notice: 'slot_rotated' }
    },
  ),
]
