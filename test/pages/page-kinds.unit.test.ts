import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { loadPages } from '../../core/host/load-pages.js'

describe('the pages of endpoints', () => {
  it('are every view that is a page: an endpoint declares what it shows', async () => {
    const folder = 'core/interaction/views'
    const views = readdirSync(folder).filter((name) =>
      readFileSync(join(folder, name), 'utf8').includes(`layout('@layout'`),
    )
    const declared = (await loadPages()).map(({ view }) => `${view}.eta`)
    expect(declared.toSorted()).toEqual(views.toSorted())
  })

  it('come with a plain sample each', async () => {
    const kinds = await loadPages()
    expect(kinds.filter(({ samples }) => Object.keys(samples).length === 0)).toEqual([])
  })
})
