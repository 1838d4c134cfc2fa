import type { Route } from './route.js'

/** What an id of ours or the name of an asset may look like. */
export const isSegment = (text: string): boolean => /^[\w-][\w.~-]{0,127}$/.test(text)

/** Finds the row that will serve a path, before the routers have been asked. */
export const createFindRoute = (table: readonly Route[]): ((path: string) => Route | undefined) => {
  const hasParameters = ({ path }: Route): boolean => path.includes('{')
  const fixed = new Map(table.filter((route) => !hasParameters(route)).map((route) => [route.path, route]))
  const others = table.filter(hasParameters).map((route) => ({ route, parts: route.path.split('/') }))
  return (path) => {
    const found = fixed.get(path)
    if (found !== undefined) return found
    const given = path.split('/')
    const fits = (part: string, index: number): boolean =>
      part.startsWith('{') ? isSegment(given[index] ?? '') : part === given[index]
    return others.find(({ parts }) => parts.length === given.length && parts.every(fits))?.route
  }
}
