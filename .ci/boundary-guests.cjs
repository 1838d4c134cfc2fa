/**
 * Who may import whom outside the rooms of the core: plugins, signers, stores, libraries, tests, and packages.
 */

const { forbid, npm, ownFolder, product, reserved, wire } = require('./boundary-rules.cjs')

module.exports = [
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
  ownFolder('plugins-import-the-door', 'plugins/([^/]+/[^/]+)', ['^core/api/'], 'core/api, the own folder, packages.'),
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
    // The files left out are loaded at run time: by plugins, by stores, by browsers, and by a thread.
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
]
