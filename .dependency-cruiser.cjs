/**
 * Who may import whom. Each rule has its violation in test/architecture/broken-tree, and a test proves that each one
 * is reported there.
 */

const { forbid, npm, ours, ownFolder, product, reserved, room, roots, wire } = require('./.ci/boundary-rules.cjs')

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
    forbid(
      'core-names-no-guest',
      { path: '^(core|config)/' },
      { path: '^(plugins|signers|stores)/' },
      'Plugins, signers and stores are named by configuration alone.',
    ),
    forbid(
      'the-door-is-for-guests',
      { path: '^(core|config)/', pathNot: '^core/api/' },
      { path: '^core/api/' },
      'core/api is for plugins, signers and stores; core imports its rooms.',
    ),
    ownFolder(
      'plugins-import-the-door',
      'plugins/([^/]+/[^/]+)',
      ['^core/api/'],
      'core/api, the own folder, packages.',
    ),
    forbid(
      'signers-and-stores-import-what-is-promised',
      { path: '^(signers|stores)/' },
      { path: '^core/api/internal\\.ts$' },
      'What built-in signers and stores need, those of others need too: it belongs to the public API.',
    ),
    ownFolder('signers-import-the-door', 'signers/([^/]+)', ['^core/api/'], 'core/api, the own folder, packages.'),
    ownFolder('stores-import-the-door', 'stores/([^/]+)', ['^core/api/'], 'core/api, the own folder, packages.'),
    forbid(
      'drivers-where-opened',
      { path: '^stores/[^/]+/index\\.ts$' },
      { path: '^stores/[^/]+/open-', dynamic: false },
      'A check of the configuration loads no driver of a database: it takes time and memory.',
    ),
    ownFolder(
      'libraries-are-apart',
      'libraries/([^/]+)',
      [wire],
      'What devices and verifiers install knows nothing of the server; both sides share libraries/wire.',
    ),
    forbid(
      'core-shares-the-wire-alone',
      { path: '^core/', pathNot: '^core/(demo|cli/remote)/' },
      { path: '^libraries/(?!wire/)' },
      'The server knows what is on the wire, not what devices and verifiers install; the command line is a client of the admin API.',
    ),
    forbid(
      'wire-imports-nothing',
      { path: wire },
      { pathNot: wire },
      'The words of both sides run wherever JavaScript runs.',
    ),
    forbid(
      'device-runs-in-browsers',
      { path: '^libraries/device/(?!node/)' },
      { dependencyTypes: ['core'] },
      'Node, and the devices that need it, are in libraries/device/node.',
    ),
    forbid(
      'device-imports-jose-alone',
      { path: '^libraries/device/(?!node/)' },
      { dependencyTypes: ['npm', 'npm-dev', 'npm-optional'], pathNot: npm('jose') },
    ),
    forbid('only-tests-import-tests', { path: product }, { path: '^(test|bench)/' }),
    forbid(
      'tests-share-test-support',
      { path: '^test/([^/]+)/' },
      { path: '^(test|bench)/', pathNot: ['^test/support/', '^test/$1/'] },
      'Fixtures have one home: no folder of tests looks into another.',
    ),
    forbid(
      'bench-imports-test-support',
      { path: '^bench/' },
      { path: '^test/', pathNot: '^test/support/' },
      'What a measurement and a test share is a fixture.',
    ),
    reserved('only-http-knows-koa', 'koa|@koa/router|koa-body', 'core/http'),
    reserved('only-host-knows-tsyringe', 'tsyringe|reflect-metadata', 'core/host'),
    reserved('only-embedded-knows-lmdb', 'lmdb', 'stores/embedded'),
    reserved('only-mongodb-knows-mongodb', 'mongodb', 'stores/mongodb'),
    reserved('only-redis-knows-ioredis', 'ioredis', 'stores/redis'),
    reserved('only-outbound-knows-the-proxy', 'https-proxy-agent|proxy-from-env', 'core/outbound'),
    reserved('only-aws-kms-knows-the-sdk', '@aws-sdk/[^/]+', 'signers/aws-kms'),
    reserved('only-pkcs11-knows-pkcs11js', 'pkcs11js', '(signers/pkcs11|libraries/device/node)'),
    forbid('no-cycles', {}, { circular: true }),
    forbid(
      'no-orphans',
      {
        orphan: true,
        pathNot: ['^core/(interaction|demo|console)/assets/', '^libraries/admin/client\\.ts$', '^(test|bench)/'],
      },
      {},
      'A file that neither imports nor is imported is dead. A plugin at least imports the door; what the build writes imports the client.',
    ),
    forbid(
      'no-dead-files-in-core',
      { path: '^core/main\\.ts$' },
      // Those left out are loaded at run time: by plugins, by stores, by browsers, and by a thread.
      {
        path: '^core/',
        pathNot: [
          '^core/(api|testing)/',
          '^core/storage/(device-codes|max-size-option)\\.ts$',
          '^core/(interaction|demo|console)/assets/',
          '^core/keys/verify-worker\\.js$',
        ],
        reachable: false,
      },
      'What the entry does not reach, nobody runs. The door is reached from plugins, signers and stores.',
    ),
    forbid(
      'no-development-packages',
      { path: product },
      { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'npm-optional', 'npm-peer'] },
      'Who installs the product gets no development packages.',
    ),
    // It takes the member that says which peers are optional for a kind of its own, which it does not know.
    forbid(
      'no-undeclared-packages',
      {},
      { dependencyTypes: ['npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['npm-peer'] },
    ),
    forbid('no-unresolvable-imports', {}, { couldNotResolve: true }),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^test/(architecture/broken-tree|support/server/acme-grant)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: `${__dirname}/tsconfig.json` },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'types', 'node', 'default'] },
  },
}
