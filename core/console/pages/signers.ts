import { Problem } from '../../admin-api/problem.js'
import type { Translator } from '../../interaction/languages/translator.js'
import type { KeyReport, RingReport } from '../../keys/ring-report.js'
import { code, numberCell, pathTo, type Cell, type Section } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'

const circuitTones = { closed: 'good', half_open: 'warn', open: 'bad' } as const

const milliseconds = (value: number | undefined): Cell => ({
  text: value === undefined ? '–' : value.toFixed(1),
  number: true,
})

const probeCell = (texts: Translator, age: number): Cell => {
  if (!Number.isFinite(age)) return { text: texts.text('common.never') }
  return { text: age < 60_000 ? texts.text('signers.just_now') : texts.ago(Math.round(age / 1000)) }
}

const keyRow = (
  texts: Translator,
  { kid, latency, calls, quarantines, probeAge, reason, signerRefusal }: KeyReport,
): readonly Cell[] => [
  { ...code(kid), small: signerRefusal ?? reason },
  milliseconds(latency?.p50),
  milliseconds(latency?.p99),
  numberCell(calls.signed),
  numberCell(Object.entries(calls).reduce((sum, [outcome, count]) => (outcome === 'signed' ? sum : sum + count), 0)),
  numberCell(quarantines),
  probeCell(texts, probeAge),
]

const sectionOf = (
  texts: Translator,
  name: string,
  use: string,
  { keys, signers }: RingReport,
  mayWrite: boolean,
): Section => {
  const report = signers.find((signer) => signer.name === name)
  return {
    title: name,
    facts: [
      [texts.text('signers.module'), code(use)],
      [
        texts.text('signers.circuit'),
        report === undefined
          ? { text: texts.text('signers.in_process'), tone: 'good' }
          : { text: texts.text(`signers.circuit.${report.circuit}`), tone: circuitTones[report.circuit] },
      ],
      ...(report === undefined
        ? []
        : [
            [
              texts.text('signers.queue'),
              {
                text: texts.text('signers.queue.now', {
                  waiting: String(report.waiting),
                  running: String(report.running),
                }),
              },
            ] as const,
          ]),
    ],
    table: {
      columns: [
        texts.text('keys.key'),
        ...['p50', 'p99', 'signed', 'failed', 'quarantines'].map((column) => ({
          title: texts.text(`signers.${column}`),
          number: true as const,
        })),
        texts.text('signers.probed'),
      ],
      rows: keys.filter(({ signer }) => signer === name).map((key) => keyRow(texts, key)),
    },
    empty: texts.text('signers.no_keys'),
    buttons: mayWrite ? [{ action: `${pathTo('signers', name)}/prove`, title: texts.text('signers.prove') }] : [],
  }
}

export const signerPages = [
  definePage({ path: '/signers', permission: 'keys.read', section: 'signers' }, ({ parts, texts, may }) => {
    const report = parts.running.keys()
    return Promise.resolve({
      view: 'detail',
      title: texts.text('nav.signers'),
      data: {
        lead: texts.text('signers.lead'),
        sections: Object.entries(parts.config.signers).map(([name, { use }]) =>
          sectionOf(texts, name, use, report, may('keys.write')),
        ),
      },
    })
  }),
  defineForm(
    { path: '/signers/{name}/prove', permission: 'keys.write', section: 'signers' },
    async ({ parts, texts, path, request }) => {
      const name = path('name')
      if (!Object.hasOwn(parts.config.signers, name)) throw new Problem(404, 'unknown', 'There is no such signer.')
      const probes = await parts.running.prove(request.signal, name)
      return {
        view: 'detail',
        title: texts.text('signers.proof', { name }),
        data: {
          crumb: { href: '/signers', title: texts.text('nav.signers') },
          sections: [
            {
              table: {
                columns: [
                  texts.text('keys.key'),
                  texts.text('signers.outcome'),
                  { title: texts.text('signers.milliseconds'), number: true },
                ],
                rows: probes.map(({ kid, outcome, latency }) => [
                  code(kid),
                  {
                    text: texts.text(`signers.outcome.${outcome}`),
                    tone: outcome === 'passed' ? ('good' as const) : ('bad' as const),
                  },
                  milliseconds(latency),
                ]),
              },
              empty: texts.text('signers.no_keys'),
            },
          ],
        },
      }
    },
  ),
]
