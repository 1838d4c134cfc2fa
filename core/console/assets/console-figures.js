// The figures of all processes are published every ten seconds.
const everyMs = 10_000
const charts = [...document.querySelectorAll('.chart')]
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name)

const series = ({ minutes, quarters }, span) => {
  const spans = span === 'hour' ? minutes : quarters
  const seconds = span === 'hour' ? 60 : 900
  return [
    spans.map(({ at }) => at / 1000),
    spans.map(({ tokens }) => tokens / seconds),
    spans.map(({ refusals }) => refusals / seconds),
    spans.map(({ p99 }) => p99),
  ]
}

/** Seconds that a chart shows, up to now. */
const shown = { hour: 3600, day: 86_400 }
const clock = new Intl.DateTimeFormat(document.documentElement.lang, { hour: '2-digit', minute: '2-digit' })
const times = (_, seconds) => seconds.map((at) => clock.format(at * 1000))

const draw = (Plot, element, data) => {
  const axis = { stroke: color('--muted'), grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } }
  const line = (label, name, scale) => ({ label, scale, stroke: color(name), width: 2, points: { show: false } })
  const plot = new Plot(
    {
      width: element.clientWidth,
      height: 180,
      scales: {
        x: { range: () => [Date.now() / 1000 - shown[element.dataset.span], Date.now() / 1000] },
        latency: { range: (_, __, most) => [0, Math.max(10, most)] },
        y: { range: (_, __, most) => [0, Math.max(1, most)] },
      },
      axes: [
        { ...axis, values: times },
        { ...axis, size: 48 },
        { ...axis, side: 1, scale: 'latency', grid: { show: false }, size: 48 },
      ],
      series: [
        { label: element.dataset.time, value: (_, at) => (at === null ? '–' : clock.format(at * 1000)) },
        line(element.dataset.tokens, '--good', 'y'),
        line(element.dataset.refusals, '--problem', 'y'),
        line(element.dataset.latency, '--brass', 'latency'),
      ],
    },
    series(data, element.dataset.span),
    element,
  )
  new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: 180 })).observe(element)
  return plot
}

const read = async () => {
  const reply = await fetch(charts[0].dataset.url, { credentials: 'same-origin' })
  if (!reply.ok) throw new Error(String(reply.status))
  return reply.json()
}

const showLast = ({ minutes, processes }) => {
  const last = minutes.findLast(({ at }) => at + 60_000 <= Date.now())
  const values = {
    tokens: ((last?.tokens ?? 0) / 60).toFixed(1),
    refusals: ((last?.refusals ?? 0) / 60).toFixed(1),
    requests: ((last?.requests ?? 0) / 60).toFixed(1),
    p99: last?.requests ? String(last.p99) : '–',
    processes: String(processes.length),
  }
  for (const element of document.querySelectorAll('[data-figure]')) element.textContent = values[element.dataset.figure]
}

if (charts.length > 0) {
  const [data, { default: Plot }] = await Promise.all([read(), import(new URL('uplot.js', import.meta.url).href)])
  const plots = charts.map((element) => draw(Plot, element, data))
  setInterval(async () => {
    if (document.hidden) return
    // A session that has ended shows with the next page; until then the last figures stay.
    const next = await read().catch(() => undefined)
    if (next === undefined) return
    showLast(next)
    for (const [index, plot] of plots.entries()) plot.setData(series(next, charts[index].dataset.span))
  }, everyMs)
}
