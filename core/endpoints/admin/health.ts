import { z } from 'zod'
import type { Readiness } from '../../observe/health.js'
import { build } from '../../package-root.js'
import { json, type Handler } from '../message.js'
import { answeringJson, type AdminDeclaration } from './admin-endpoint.js'

/** `GET /health/live` answers as long as the event loop runs. No dependency is checked. */
export const liveEndpoint = {
  path: '/health/live',
  methods: ['GET'],
  body: 'none',
  permission: 'none',
  limit: 'none',
  output: z.strictObject({ status: z.literal('live') }),
} as const satisfies AdminDeclaration

export const answerLive: Handler = () => json(200, { status: 'live' })

const component = z.strictObject({
  status: z.enum(['starting', 'up', 'down', 'draining']),
  message: z.string().optional(),
})

/** `GET /health/ready`: 200 while the process can serve, otherwise 503 with what is down. */
export const readyEndpoint = {
  path: '/health/ready',
  methods: ['GET'],
  body: 'none',
  permission: 'service.read',
  limit: 'none',
  output: z.strictObject({
    status: z.enum(['ready', 'not ready']),
    version: z.string(),
    /** The commit of the build. Absent when it was built without a repository. */
    commit: z.string().optional(),
    components: z.record(z.string(), component),
  }),
} as const satisfies AdminDeclaration

/** One line per component, for people and `grep`. */
export const createReadyEndpoint = (readiness: Pick<Readiness, 'report'>): Handler =>
  answeringJson(readyEndpoint, () => {
    const { ready, components } = readiness.report()
    const lines = Object.entries(components).map(
      ([name, health]) => `${JSON.stringify(name)}:${JSON.stringify(health)}`,
    )
    const status = ready ? ('ready' as const) : ('not ready' as const)
    return {
      status: ready ? 200 : 503,
      data: { status, ...build, components: { ...components } },
      text: `${JSON.stringify({ status, ...build }).slice(0, -1)},"components":{\n${lines.join(',\n')}\n}}\n`,
    }
  })
