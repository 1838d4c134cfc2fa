/** Links to the first and the next page of a list, relative to the page itself; its filters stay. */
export const pagerOf = (
  filters: Readonly<Record<string, string | undefined>>,
  cursor: string | undefined,
  nextCursor: string | undefined,
) => {
  const given = Object.entries(filters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const urlOf = (more: Readonly<Record<string, string>>): string =>
    `?${new URLSearchParams({ ...(Object.fromEntries(given) as Record<string, string>), ...more }).toString()}`
  return {
    isLater: cursor !== undefined,
    firstUrl: urlOf({}),
    nextUrl: nextCursor === undefined ? undefined : urlOf({ cursor: nextCursor }),
  }
}
