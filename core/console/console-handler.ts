import type { ApiParts } from '../admin-api/api-route.js'
import { withRequestId } from '../admin-api/with-request-id.js'
import { Problem } from '../admin-api/problem.js'
import type { OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from '../endpoints/message.js'
import { isSameText } from '../oauth/same-text.js'
import { actedByOperator, type OperatorIdentity } from '../operators/operator.js'
import { AwaitsApproval } from '../administration/require-approval.js'
import { consolePath, type ConsoleCall, type ConsoleFile, type ConsoleRoute, type ConsoleView } from './console-page.js'
import type { ConsoleDocuments, SpokenConsole } from './documents.js'

export interface ConsoleOptions {
  readonly parts: () => ApiParts
  readonly documents: ConsoleDocuments
  /** The path of `admin.base_url`, before every link. */
  readonly base: string
}

/** A form of another site cannot know the value. */
const checkCsrf = ({ csrf }: OperatorIdentity, request: EndpointRequest): void => {
  if (csrf === undefined || isSameText(csrf, request.form.values.get('csrf') ?? '')) return
  throw new Problem(403, 'stale_form', 'The form is not one of this session. Open the page again.')
}

/** Fields of a form that are empty count as absent. */
const read = ({ input, method }: ConsoleRoute, request: EndpointRequest): unknown => {
  const { values, repeated } = method === 'GET' ? request.query : request.form
  if (repeated.size > 0) throw new Problem(400, 'invalid_request', 'A field was sent more than once.')
  if (input === undefined) return undefined
  const given = Object.fromEntries([...values].filter(([name, value]) => value !== '' && !ownFields.has(name)))
  const result = input.safeParse(given)
  if (result.success) return result.data
  throw new Problem(400, 'invalid_request', 'A field does not have a value that it can have.', {
    errors: result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message })),
  })
}

/** Fields that belong to the frame: the token of forms, and the notice after one. */
const ownFields: ReadonlySet<string> = new Set(['csrf', 'notice'])

const callOf = (
  route: ConsoleRoute,
  request: EndpointRequest,
  operator: OperatorIdentity,
  { parts, texts }: { readonly parts: ApiParts; readonly texts: SpokenConsole['texts'] },
): ConsoleCall<never> => ({
  input: read(route, request) as never,
  path: (name) => request.path.get(name) ?? '',
  operator,
  by: actedByOperator(operator, { via: 'console', address: request.address }),
  may: (permission) => operator.permissions.has(permission),
  parts: { ...parts, audit: withRequestId(parts.audit, request.requestId) },
  texts,
  request,
})

/** Says that other operators must approve it first. What was generated for it is shown only here. */
const waitingView = ({ approval, document, secrets }: AwaitsApproval, texts: SpokenConsole['texts']): ConsoleView => ({
  view: 'approval-waiting',
  title: texts.text('approvals.waits'),
  data: { id: approval.id, needed: document.approvals, secrets: Object.entries(secrets) },
})

/** A file that the browser saves, and never opens as a page. */
const saved = ({ file, type, body }: ConsoleFile): Reply => ({
  status: 200,
  headers: {
    'Content-Type': type,
    'Content-Disposition': `attachment; filename="${file}"`,
    'Cache-Control': 'no-store',
  },
  body,
})

/** Answers the requests of one page or form, for operators whom the guard has admitted. */
export const createConsoleHandler =
  (route: ConsoleRoute, { parts, documents, base }: ConsoleOptions): OperatorHandler =>
  async (request, operator) => {
    if (operator === undefined) throw new Error('the guard has admitted nobody')
    const spoken = documents.for(request.header('accept-language'))
    const notice = request.query.values.get('notice')
    const at = { section: route.section, base, operator, notice }
    try {
      if (route.method === 'POST') checkCsrf(operator, request)
      const outcome = await route.answer(callOf(route, request, operator, { parts: parts(), texts: spoken.texts }))
      if ('file' in outcome) return saved(outcome)
      if ('view' in outcome) return page(outcome.status ?? 200, spoken.show(outcome, at), spoken.language)
      const search =
        outcome.notice === undefined ? '' : `?${new URLSearchParams({ notice: outcome.notice }).toString()}`
      const cookies = outcome.cookies ?? []
      return { ...redirect(`${base}${consolePath}${outcome.to}${search}`), cookies }
    } catch (error) {
      if (error instanceof AwaitsApproval && route.method === 'POST') {
        const view = waitingView(error, spoken.texts)
        return page(202, spoken.show(view, at), spoken.language)
      }
      if (!(error instanceof Problem)) throw error
      return page(error.status, spoken.show(spoken.problem(error, request.requestId), at), spoken.language)
    }
  }
