/** A part of a key's life on the time line. Times are milliseconds since the epoch. */
export interface Span {
  readonly kind: 'published' | 'signing' | 'retired' | 'expected'
  readonly from: number
  readonly until: number
}

export interface TimelineRow {
  readonly label: string
  readonly spans: readonly Span[]
}

/** Sizes in the units of the drawing. */
const size = { width: 1000, labels: 190, row: 26, head: 26 } as const

/** The first of each month in the range, with its position. */
const monthsIn = (from: number, until: number, x: (at: number) => number, language: string) => {
  const format = new Intl.DateTimeFormat(language, { month: 'short', timeZone: 'UTC' })
  const start = new Date(from)
  const months: { readonly x: number; readonly label: string }[] = []
  for (let month = 1; ; month++) {
    const at = Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + month, 1)
    if (at >= until) return months
    months.push({ x: x(at), label: format.format(at) })
  }
}

/** The drawing of the lives of keys: bars by time, with the months and the present as lines. */
export const drawTimeline = (
  rows: readonly TimelineRow[],
  {
    from,
    until,
    now,
    language,
  }: { readonly from: number; readonly until: number; readonly now: number; readonly language: string },
) => {
  const x = (at: number): number => {
    const share = (Math.min(Math.max(at, from), until) - from) / (until - from)
    return Math.round(10 * (size.labels + share * (size.width - size.labels))) / 10
  }
  return {
    ...{ width: size.width, height: size.head + rows.length * size.row + 4, head: size.head, labels: size.labels },
    now: x(now),
    months: monthsIn(from, until, x, language),
    rows: rows.map(({ label, spans }, index) => ({
      label: label.length > 24 ? `${label.slice(0, 23)}…` : label,
      title: label,
      y: size.head + index * size.row,
      bars: spans
        .filter((span) => span.until > from && span.from < until)
        .map((span) => ({ kind: span.kind, x: x(span.from), width: Math.max(1.5, x(span.until) - x(span.from)) })),
    })),
  }
}
