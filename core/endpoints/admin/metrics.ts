import type { Metrics } from '../../observe/metrics.js'
import { json, type Handler } from '../message.js'
import type { AdminDeclaration } from './admin-endpoint.js'

/** `GET /metrics`, in the text format of Prometheus. */
export const metricsEndpoint = {
  path: '/metrics',
  methods: ['GET'],
  body: 'none',
  permission: 'service.read',
  limit: 'none',
} as const satisfies AdminDeclaration

export const createMetricsEndpoint =
  (metrics: Pick<Metrics, 'expose'>): Handler =>
  async () => {
    const { type, text } = await metrics.expose()
    return { ...json(200, undefined, { 'Content-Type': type }), body: text }
  }
