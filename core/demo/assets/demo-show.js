import { verifyJwt } from './demo-jwt.js'

export const find = (id) => document.getElementById(id)

export const element = (name, className, ...children) => {
  const created = document.createElement(name)
  if (className) created.className = className
  created.append(...children)
  return created
}

/** The claims that are times in seconds since the epoch. */
const times = new Set(['exp', 'iat', 'nbf', 'auth_time', 'updated_at'])

const showValue = (name, value) => {
  const shown = typeof value === 'string' ? value : JSON.stringify(value)
  const parts = [element('code', '', shown)]
  if (times.has(name) && typeof value === 'number') {
    parts.push(element('small', '', new Date(value * 1000).toLocaleString()))
  }
  return parts
}

export const showMembers = (object) =>
  element(
    'dl',
    'pairs members',
    ...Object.entries(object).map(([name, value]) =>
      element('div', '', element('dt', '', element('code', '', name)), element('dd', '', ...showValue(name, value))),
    ),
  )

/** Works as `showMembers`, but shows each value on a line of its own, at any depth. */
export const showLeaves = (object) => showMembers(Object.fromEntries(leavesOf(object, '')))

const leavesOf = (object, prefix) =>
  Object.entries(object).flatMap(([name, value]) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? leavesOf(value, `${prefix}${name}.`)
      : [[prefix + name, value]],
  )

export const showChecks = (checks) =>
  element(
    'ul',
    'checks',
    ...checks.map(({ passed, text }) => element('li', passed ? 'passed' : 'failed', passed ? text : `not so: ${text}`)),
  )

const showCompact = (segments) => {
  const parts = segments.flatMap((segment, index) => [index > 0 ? '.' : '', element('span', `part-${index}`, segment)])
  const code = element('pre', 'compact', element('code', '', ...parts))
  code.tabIndex = 0
  return element('details', '', element('summary', '', 'Raw token'), code)
}

/** Keeps the heading and the line below it, and replaces the rest. */
export const fill = (id, ...children) => {
  const panel = find(id)
  panel.replaceChildren(panel.children[0], panel.children[1], ...children)
}

/** The content is open where there is room for it. */
const fold = (title, content) => {
  const folded = element('details', 'fold', element('summary', '', title), content)
  folded.open = !matchMedia('(max-width: 30rem)').matches
  return folded
}

export const showToken = (id, { header, claims, segments }, checks) =>
  fill(
    id,
    showChecks(checks),
    fold('Header', showMembers(header)),
    fold('Claims', showMembers(claims)),
    showCompact(segments),
  )

/** Makes one check of `showChecks`. */
export const checkSignature = async (jwt, header, keySet) => ({
  passed: await verifyJwt(jwt, keySet),
  text: `signature verified (${header.alg}, key ${header.kid})`,
})

/** Runs one step at a time and disables the buttons meanwhile. A failure is shown as text. */
export const createStep = (buttons, status, problem) => async (doing, done, work) => {
  for (const button of buttons) button.disabled = true
  problem.hidden = true
  status.textContent = doing
  try {
    status.textContent = (await work()) === 'nothing' ? '' : done
  } catch (error) {
    status.textContent = ''
    problem.textContent = error.message
    problem.hidden = false
  }
  for (const button of buttons) button.disabled = false
}
