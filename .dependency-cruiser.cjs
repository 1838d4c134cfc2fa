/**
 * Who may import whom. Each rule has its violation in test/architecture/broken-tree, and a test proves that each one
 * is reported there.
 */

const outsideTheRooms = require('./.ci/boundary-guests.cjs')
const { forbid, ours, product, room, roots, wire } = require('./.ci/boundary-rules.cjs')

const observe = '^core/observe/'
const oauth = '^core/oauth/'
const certificates = '^core/certificates/'
const keys = '^core/keys/'
const jose = '^core/jose/'
const limits = '^core/limits/'
const outbound = '^core/outbound/'
const ports = '^core/storage/ports\\.ts$'
/** What every endpoint may use, beside authorization-flow: all else in core/endpoints is an endpoint, or a folder of one. */
const endpointWords =
  '^core/endpoints/(access-token|client-request|endpoint|message|rate-limits|refusals|supported|token-question)\\.ts$'

module.exports = {
  forbidden: [
    forbid(
      'config-imports-nothing',
      { path: '^config/' },
      { path: '^(core|plugins|signers|stores|libraries|test)/', pathNot: roots },
      'Configuration is data: it knows no room of the house.',
    ),
    forbid(
      'root-files-import-nothing',
      { path: roots },
      { path: ours },
      'The root files are words that all rooms share.',
    ),
    forbid(
      'main-imports',
      { path: '^core/main\\.ts$' },
      { path: ours, pathNot: [roots, '^core/(host|cli)/', '^config/'] },
      'The entry loads the configuration, composes and listens.',
    ),
    forbid(
      'host-imports',
      { path: '^core/host/' },
      { path: ours, pathNot: ['^core/(?!(cli|operate|workers)/|main\\.ts$)', '^config/', wire] },
      'The composition root knows all below it; plugins, signers and stores come by specifier.',
    ),
    forbid(
      'nobody-imports-host',
      { path: product, pathNot: ['^core/(host|workers|cli|operate)/', '^core/main\\.ts$'] },
      { path: '^core/host/' },
      'The entry, the command line, and what looks at a deployment from outside stand above the host.',
    ),
    room(
      'collections',
      ['^core/(modules|interaction|attestation|keys|operators|storage)/', '^config/', oauth, observe],
      'Which collection lives in which store, and what belongs to one person.',
    ),
    room(
      'checks',
      [
        '^core/(modules|interaction|attestation|tokens|operators)/',
        '^config/',
        oauth,
        outbound,
        certificates,
        jose,
        keys,
      ],
      'What of a configuration its schema cannot check.',
    ),
    room(
      'administration',
      [
        '^core/(collections|checks|modules|interaction|attestation|keys|operators|totp)/',
        '^config/',
        oauth,
        jose,
        observe,
        '^core/storage/search-(index|terms)\\.ts$',
        ports,
      ],
      'What operators change and list, whichever way they reach Signet: it prints nothing and knows no HTTP.',
    ),
    room(
      'operators',
      [
        '^core/interaction/factors/',
        '^core/outbound/outbound-fetch\\.ts$',
        '^core/attestation/(enrolment-keys|ports|principal-registry|read-attestation|request-signature)\\.ts$',
        '^core/oauth/errors\\.ts$',
        '^config/',
        jose,
        certificates,
        ports,
        observe,
      ],
      'Who administers a deployment, and what each may do.',
    ),
    room(
      'admin-api',
      [
        '^core/(administration|attestation|checks|collections|keys|operators)/',
        '^core/endpoints/(message|admin/admin-endpoint|admin/reload)\\.ts$',
        '^config/',
        wire,
        oauth,
        ports,
        observe,
      ],
      'What operators read and change as JSON: it names the schemas, and core/administration does the work.',
    ),
    room(
      'console',
      [
        '^core/(admin-api|administration|checks|keys|operators|interaction)/',
        '^core/collections/shared-figures\\.ts$',
        '^core/endpoints/(message|admin/admin-endpoint)\\.ts$',
        '^config/',
        oauth,
        ports,
        observe,
      ],
      'What operators see and do in a browser: pages over core/administration, with the lists and refusals of the API.',
    ),
    room(
      'key-ceremony',
      ['^core/(administration|collections|modules|tokens)/', '^config/', jose, keys, ports, observe],
      'Keys that people make together: it changes records as an operator does, and prints nothing.',
    ),
    room(
      'cli',
      [
        '^core/(administration|admin-api|key-ceremony|host|demo|collections|checks|workers|operate|operators|modules|interaction|attestation|totp)/',
        '^config/',
        '^libraries/admin/',
        observe,
        oauth,
        jose,
        keys,
        outbound,
        ports,
      ],
      'The command line drives the host.',
    ),
    room(
      'workers',
      [
        '^core/(host|checks|http|endpoints)/',
        '^core/keys/shared-proofs\\.ts$',
        '^core/oauth/errors\\.ts$',
        '^config/',
        observe,
      ],
      'Several processes on one port, each with a host of its own.',
    ),
    room(
      'demo',
      ['^core/(endpoints|interaction|attestation)/', '^config/', '^libraries/verify/', oauth],
      'What a start without configuration is tried with: it plays a service that devices call.',
    ),
    room(
      'operate',
      [
        '^core/(host|collections|checks|modules|tokens|attestation|interaction|operators)/',
        '^config/',
        observe,
        oauth,
        outbound,
        certificates,
        jose,
        keys,
        outbound,
        ports,
      ],
      'What operators ask about a deployment, from outside of it.',
    ),
    room(
      'modules',
      [
        '^core/(attestation|interaction)/',
        '^config/',
        oauth,
        outbound,
        certificates,
        jose,
        keys,
        '^core/storage/[a-z-]+\\.ts$',
        observe,
      ],
      'The contract of plugins, signers and adapters, and how they are loaded.',
    ),
    room(
      'http',
      [
        '^core/(endpoints|operators)/',
        certificates,
        limits,
        '^core/oauth/(errors|said|requests/params)\\.ts$',
        observe,
      ],
      'HTTP knows endpoints, not rules.',
    ),
    room(
      'endpoints',
      ['^core/(tokens|attestation|interaction|operators)/', limits, oauth, certificates, jose, keys, ports, observe],
      'Endpoints tell the story; they see no HTTP framework and no adapter.',
    ),
    forbid(
      'endpoints-are-apart',
      { path: '^core/endpoints/([^/]+)' },
      { path: '^core/endpoints/', pathNot: [endpointWords, '^core/endpoints/(authorization-flow|$1)/'] },
      'No endpoint imports another; what several of them do is in authorization-flow or a word of all.',
    ),
    room('oauth', [outbound, certificates, jose, ports, observe], 'Protocol rules.'),
    room('certificates', [jose], 'What certificates say, and whom they lead to.'),
    room('outbound', [jose, observe], 'What is fetched from elsewhere.'),
    room('limits', [ports], 'Who may do something how often.'),
    room('totp', [], 'Codes of authenticator apps, for people who sign in and for devices that enrol.'),
    room('jose', [], 'Algorithms, keys and signatures as JOSE writes them.'),
    room('tokens', [oauth, jose, keys, ports, observe], 'Prepare, then sign once.'),
    room('attestation', [limits, oauth, jose, keys, '^core/tokens/', ports, observe], 'The ceremony.'),
    room('keys', [jose, observe], 'Keys know nothing of the protocol.', { within: '(lifecycle|log|slots)' }),
    room('keys/lifecycle', [jose, keys, '^config/', ports, observe], 'What becomes of configured keys over days.'),
    room('keys/log', [jose, keys, '^config/', ports, observe], 'The public log of keys.'),
    room('keys/slots', [jose, keys, '^config/', ports, observe], 'Keys that rotate themselves.'),
    room('interaction', ['^core/totp/', oauth, jose, ports, observe], 'Sessions and pages.'),
    room('storage', [observe], 'What stores promise, and what is built on it.'),
    room(
      'testing',
      [
        '^core/modules/contract\\.ts$',
        '^core/tokens/',
        '^core/storage/[a-z-]+\\.ts$',
        '^core/keys/ports\\.ts$',
        oauth,
        jose,
      ],
      'Tests of plugins, signers and adapters hold them to the rules of the core.',
    ),
    room('observe', [], 'Everybody may be observed, so observing knows nobody.'),
    ...outsideTheRooms,
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/(architecture/broken-tree|support/server/acme-grant)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: `${__dirname}/tsconfig.json` },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
}
