import type { Context, Span, SpanStatusCode, TracerProvider } from '@opentelemetry/api'
import { packageVersion } from '../package-root.js'
import { Unavailable } from '../unavailable.js'
import type { TracePosition } from './traceparent.js'

/** Of a span. Names, outcomes and times: never anything that a caller sent. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** A span whose work goes on. */
export interface OpenSpan extends TracePosition {
  rename(name: string): void
  set(attributes: SpanAttributes): void
  fail(): void
}

/** Spans, where the deployer has registered an SDK of OpenTelemetry. */
export interface Tracing {
  /** A request from outside, that goes on `parent`'s trace. Spans within `work` are its children. */
  request<T>(parent: TracePosition | undefined, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /** A call that leaves the process or takes its time. `describe` tells how it ended. */
  call<T>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<T>,
    describe?: (result: T) => SpanAttributes,
  ): Promise<T>
}

/** Before an SDK is registered the provider of the API is one that stands in for it, and knows no tracer. */
const isRegistered = (provider: TracerProvider & { getDelegateTracer?: (name: string) => unknown }): boolean =>
  provider.getDelegateTracer === undefined || provider.getDelegateTracer('signet') !== undefined

/** Where the API, of any copy of its package, keeps what an SDK registers. */
const registered = Symbol.for('opentelemetry.js.api.1')

/** Looked up once, at the start: undefined without an SDK, and then nothing of this is on the way of a request. */
export const findTracing = async (): Promise<Tracing | undefined> => {
  // The API is fifty modules, which a start without an SDK need not load.
  if (!(registered in globalThis)) return undefined
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  if (!isRegistered(trace.getTracerProvider())) return undefined
  const tracer = trace.getTracer('signet', packageVersion)

  const during = async <T>(span: Span, within: Context, work: () => Promise<T>) => {
    try {
      return await context.with(trace.setSpan(within, span), work)
    } catch (error) {
      // The message may be anything; what kind of failure it is has to do.
      span.setStatus({ code: SpanStatusCode.ERROR })
      span.setAttribute('error.type', error instanceof Unavailable ? 'unavailable' : nameOf(error))
      throw error
    } finally {
      span.end()
    }
  }

  return {
    request(parent, work) {
      const within = parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, within)
      return during(span, within, () => work(openSpan(span, SpanStatusCode.ERROR)))
    },
    call(name, attributes, work, describe) {
      const within = context.active()
      // A probe in the background, or a clean-up, belongs to no request: it would be a trace of its own each time.
      if (trace.getSpan(within) === undefined) return work()
      const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, within)
      return during(span, within, async () => {
        const result = await work()
        if (describe) span.setAttributes(describe(result))
        return result
      })
    },
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'error')

const openSpan = (span: Span, failed: SpanStatusCode.ERROR): OpenSpan => {
  const { traceId, spanId, traceFlags } = span.spanContext()
  return {
    traceId,
    spanId,
    traceFlags,
    rename: (name) => void span.updateName(name),
    set: (attributes) => void span.setAttributes(attributes),
    fail: () => void span.setStatus({ code: failed }),
  }
}
