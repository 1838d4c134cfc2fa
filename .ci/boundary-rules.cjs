/** The vocabulary of .dependency-cruiser.cjs: each function makes one rule. */

const product = '^(core|plugins|signers|stores|config|libraries)/'
const ours = '^(core|plugins|signers|stores|config|libraries|test|bench)/'
/** Root files of core: they import nothing of ours, and any room may import them. */
const roots =
  '^core/(address-bucket|disposables|clock|deadline|disk-space|format-path|json|near-miss|opaque-token|package-root|plain-text|plugin-failure|fair-queue|recent-map|report-fault|unavailable|yes-or-no)\\.ts$'
const npm = (names) => `(^|/)node_modules/(${names})/|^(${names})$`

/** What the server, devices and verifiers must agree on. */
const wire = '^libraries/wire/'

/** A room of core may import itself but for the rooms within, the root files, libraries/wire, packages, and what is listed. */
const room = (name, allowed, comment, { within } = {}) => {
  const inner = within && `^core/${name}/(${within})/`
  const own = within ? `^core/${name}/(?!(${within})/)` : `^core/${name}/`
  return {
    name: `${name.replace('/', '-')}-imports`,
    comment,
    severity: 'error',
    from: { path: `^core/${name}/`, ...(inner && { pathNot: inner }) },
    to: { path: ours, pathNot: [roots, wire, own, ...allowed] },
  }
}

/** A package that one folder of the product alone may see. */
const reserved = (name, packages, folder) => ({
  name,
  comment: `Only ${folder} knows ${packages}.`,
  severity: 'error',
  from: { path: product, pathNot: `^${folder}/` },
  to: { path: npm(packages) },
})

const forbid = (name, from, to, comment) => ({ name, ...(comment && { comment }), severity: 'error', from, to })

/** Each folder that the pattern finds may import itself, packages, and what is listed. */
const ownFolder = (name, folder, allowed, comment) => ({
  name,
  comment,
  severity: 'error',
  from: { path: `^${folder}/` },
  to: { path: ours, pathNot: [`^${folder.replace(/\(.*\)/, '$$1')}/`, ...allowed] },
})

module.exports = { forbid, npm, ours, ownFolder, product, reserved, room, roots, wire }
