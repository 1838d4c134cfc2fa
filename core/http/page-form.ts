import { OAuthError } from '../oauth/errors.js'
import { noParameters, type ParameterList } from '../oauth/requests/params.js'
import type { Context } from './exchange.js'
import { limitPieces, tooLarge, unsupported } from './body-bytes.js'
import { checkFormHeaders, formBody, maxBodyBytes, parseForm } from './form-reader.js'

/**
 * koa-body hands over the form as text, one character a byte: its own form parser makes objects of brackets and replaces
 * bytes that are not UTF-8. JSON and multipart are off.
 */
const textReader = {
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
}

/** Reads a browser's form into flat strings. Throws as the form reader does. */
export const readPageForm = async (ctx: Context): Promise<ParameterList> => {
  if (!checkFormHeaders(ctx.req)) return noParameters
  // It comes with parsers of everything else, which a start does not wait for.
  const { koaBody } = await import('koa-body')
  const reading = koaBody(textReader)(ctx, async () => undefined) as Promise<unknown>
  limitPieces(ctx.req)
  await reading
  const text: unknown = ctx.request.body
  // koa-body reads the content type once more, with a parser of its own.
  if (typeof text !== 'string') throw unsupported(formBody)
  return parseForm(Buffer.from(text, 'latin1'))
}
