import { OAuthError } from '../oauth/errors.js'
import { noParameters, type ParameterList } from '../oauth/requests/params.js'
import type { Context } from './exchange.js'
import { limitPieces, tooLarge, unsupported } from './body-bytes.js'
import { checkFormHeaders, formBody, maxBodyBytes, parseForm } from './form-reader.js'

/**
 * Loads koa-body once, with the first form: it brings parsers of all other kinds, for which a start does not wait. The reader
 * returns the form as text, one character for each byte. koa-body's own form parser turns brackets into objects and
 * replaces bytes that are not UTF-8. JSON and multipart are off.
 */
const loadReader = async () => {
  const { koaBody } = await import('koa-body')
  return koaBody({
    json: false,
    multipart: false,
    urlencoded: false,
    text: true,
    textTypes: ['application/x-www-form-urlencoded'],
    textLimit: maxBodyBytes,
    encoding: 'binary',
    onError: (cause: Error) => {
      if ((cause as { status?: unknown }).status === 413) throw tooLarge()
      throw new OAuthError('invalid_request', 'The body was cut short.', { cause })
    },
  })
}

let reader: ReturnType<typeof loadReader> | undefined

/** Reads a browser's form into flat strings. Throws as the form reader does. */
export const readPageForm = async (ctx: Context): Promise<ParameterList> => {
  if (!checkFormHeaders(ctx.req)) return noParameters
  const readText = await (reader ??= loadReader())
  const reading = readText(ctx, async () => undefined) as Promise<unknown>
  limitPieces(ctx.req)
  await reading
  const text: unknown = ctx.request.body
  // koa-body reads the content type again with a parser of its own.
  if (typeof text !== 'string') throw unsupported(formBody)
  return parseForm(Buffer.from(text, 'latin1'))
}
