type Line = Readonly<Record<string, unknown>>

/** How many refusals these lines of the audit log tell of: one line may tell of many. */
export const countRefusals = (lines: readonly Line[], like: Line = {}): number => {
  const alike = lines.filter(
    (line) =>
      String(line['event']).endsWith('.refused') && Object.entries(like).every(([name, value]) => line[name] === value),
  )
  return alike.reduce((sum, { count }) => sum + (typeof count === 'number' ? count : 1), 0)
}
