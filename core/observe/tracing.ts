import type { Context, Span, SpanStatusCode, TracerProvider } from '@opentelemetry/api'
import { packageVersion } from '../package-root.js'
import { Unavailable } from '../unavailable.js'
import type { TracePosition } from './traceparent.js'

/** Attributes of a span: names, outcomes and times, never input of a caller. */
export type SpanAttributes = Readonly<Record<string, string | number>>

/** A span that has not ended. */
export interface OpenSpan extends TracePosition {
  rename(name: string): void
  set(attributes: SpanAttributes): void
  fail(): void
}

/** Creates spans when the deployer has registered an OpenTelemetry SDK. */
export interface Tracing {
  /** Runs a request from outside, which continues the trace of `parent`. Spans within `work` are its children. */
  request<T>(parent: TracePosition | undefined, work: (span: OpenSpan) => Promise<T>): Promise<T>
  /** Runs a call that leaves the process or takes long. `describe` returns how it ended. */
  call<T>(
    name: string,
    attributes: SpanAttributes,
    work: () => Promise<T>,
    describe?: (result: T) => SpanAttributes,
  ): Promise<T>
}

/** Before an SDK is registered, the API's provider is a stand-in without a tracer. */
const isRegistered = (provider: TracerProvider & { getDelegateTracer?: (name: string) => unknown }): boolean =>
  provider.getDelegateTracer === undefined || provider.getDelegateTracer('signet') !== undefined

/** Where the API, in any copy of its package, keeps what an SDK registers. */
const registered = Symbol.for('opentelemetry.js.api.1')

/** Looked up once at startup. Undefined without an SDK; then no tracing code runs during a request. */
export const findTracing = async (): Promise<Tracing | undefined> => {
  // The API has fifty modules, which a start without an SDK need not load.
  if (!(registered in globalThis)) return undefined
  const { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } = await import('@opentelemetry/api')
  if (!isRegistered(trace.getTracerProvider())) return undefined
  const tracer = trace.getTracer('signet', packageVersion)

  const during = async <T>(span: Span, within: Context, work: () => Promise<T>) => {
    try {
      return await context.with(trace.setSpan(within, span), work)
    } catch (error) {
      // The message could contain anything, so only the status is set.
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
      // A background probe or clean-up belongs to no request, and would be a trace of its own each time.
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
