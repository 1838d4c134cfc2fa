import { z } from 'zod'
import { defineApiRoute } from '../api-route.js'

const figures = z.object({
  at: z.int().describe('When the span begins: milliseconds since the epoch.'),
  ...{ tokens: z.int(), refusals: z.int(), requests: z.int(), p50: z.number(), p99: z.number() },
})

export const figureRoutes = [
  defineApiRoute(
    {
      ...{ path: '/figures', method: 'GET', permission: 'service.read', operation: 'readFigures', tag: 'Service' },
      summary:
        'Shows tokens, refusals and latency of the last hour by minutes, and of the last day by quarters of an hour, of all processes.',
      output: z.object({
        minutes: z.array(figures),
        quarters: z.array(figures),
        processes: z.array(
          z.object({ host: z.string(), pid: z.int(), version: z.string(), configuration: z.string() }),
        ),
      }),
    },
    async ({ parts }) => {
      const { minutes, quarters, processes } = await parts.running.figures()
      return { data: { minutes: [...minutes], quarters: [...quarters], processes: [...processes] } }
    },
  ),
]
