/** The import law of docs/architecture.md. Tests may import more than what they test. */

const ERROR = /** @type {const} */ ('error');

/** @type {'type-only'[]} */
const TYPE_ONLY = ['type-only'];

const TEST = '[.]test[.](ts|js)$';

/** What a room may import of the packages; of itself always. */
const ROOMS = {
  'packages/boot': [],
  'packages/capture': [],
  'packages/contract': [],
  'packages/delivery': ['leads'],
  'packages/leads': ['contract'],
  'packages/store': ['boot', 'contract', 'leads'],
  'packages/intake': ['boot', 'contract', 'leads'],
  'packages/queue': ['boot', 'contract'],
  'packages/operations': ['boot', 'contract', 'leads', 'store', 'intake', 'queue', 'delivery'],
  'apps/receiver': ['boot', 'capture', 'contract', 'delivery', 'leads', 'intake', 'queue'],
  'apps/deliverer': ['boot', 'delivery', 'store'],
  'apps/worker': ['boot', 'contract', 'store', 'intake', 'queue', 'operations'],
  'apps/console': ['boot', 'contract', 'delivery', 'store', 'intake', 'queue', 'operations'],
  // A client of the API, by its types, and of nothing else.
  'apps/web': [],
  'apps/cli': ['boot', 'contract', 'delivery', 'leads', 'store', 'intake', 'queue', 'operations'],
};

/** What a pure package may import, by its folder under packages/; of itself always. */
const PURE = {
  contract: { packages: [], modules: ['typebox'], builtins: ['zlib'] },
  leads: {
    packages: ['contract'],
    modules: ['iconv-lite', 'json-p3', 'libphonenumber-js', 'qs'],
    builtins: ['buffer'],
  },
};

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-cycles',
      severity: ERROR,
      comment: 'What needs each other is one thing, or has a third one in it. Types may.',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: TYPE_ONLY } },
    },
    {
      name: 'no-missing',
      severity: ERROR,
      comment: 'An import that cannot be found here is not found in production either.',
      from: { pathNot: TEST },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-undeclared',
      severity: ERROR,
      comment: 'A package declares what it imports, in its own package.json.',
      from: { path: '^(apps|packages)/', pathNot: TEST },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
    ...Object.entries(PURE).flatMap(([name, { packages, modules, builtins }]) => [
      {
        name: `${name}-is-pure`,
        severity: ERROR,
        comment: `${name} imports ${[...packages, ...modules].join(' and ')} and nothing that does I/O or reads a clock.`,
        from: { path: `^packages/${name}/src/`, pathNot: TEST },
        to: {
          path: '.',
          pathNot: [
            `^packages/${name}/src/`,
            ...packages.map((one) => `^packages/${one}/src/`),
            ...modules.map((one) => `^node_modules/(@types/)?${one}/`),
            ...builtins.map((one) => `^${one}$`),
          ],
        },
      },
    ]),
    ...Object.entries(ROOMS).map(([room, packages]) => ({
      name: `${room.replace(/^.*\//, '')}-keeps-to-its-packages`,
      severity: ERROR,
      comment: `${room} imports ${packages.join(', ') || 'none'} of the packages.`,
      from: { path: `^${room}/src/`, pathNot: TEST },
      to: {
        path: '^packages/',
        pathNot: [room, ...packages.map((one) => `packages/${one}`)].map((one) => `^${one}/`),
      },
    })),
    {
      name: 'no-room-without-rule',
      severity: ERROR,
      comment: 'Every package and app says in ROOMS what it imports.',
      from: {
        path: '^(apps|packages)/',
        pathNot: ['packages/testkit', ...Object.keys(ROOMS)].map((one) => `^${one}/`),
      },
      to: {},
    },
    {
      name: 'undici-in-delivery-only',
      severity: ERROR,
      comment: 'What calls an address that an operator typed goes by the guard of delivery.',
      from: { path: '^(apps|packages)/', pathNot: ['^packages/delivery/', TEST] },
      to: { path: '^node_modules/undici/' },
    },
    {
      name: 'packages-import-no-app',
      severity: ERROR,
      comment: 'Apps import packages, never the other way.',
      from: { path: '^packages/' },
      to: { path: '^apps/' },
    },
    {
      name: 'apps-stand-alone',
      severity: ERROR,
      comment: 'Apps never import each other: what two need is a package.',
      from: { path: '^apps/([^/]+)/' },
      to: { path: '^apps/', pathNot: '^apps/$1/' },
    },
    {
      name: 'packages-by-name',
      severity: ERROR,
      comment: 'Another package is imported by its name, never by a path into it.',
      from: { path: '^(apps|packages)/([^/]+)/', pathNot: '^packages/testkit/' },
      to: { path: '^packages/', pathNot: '^packages/$2/', dependencyTypes: ['local'] },
    },
    {
      name: 'testkit-in-tests-only',
      severity: ERROR,
      comment: 'testkit starts servers: nothing that runs in production knows it.',
      from: { pathNot: [TEST, '^(apps|packages)/[^/]+/test/', '^packages/testkit/', '^e2e/'] },
      to: { path: '^packages/testkit/' },
    },
    {
      name: 'bullmq-in-queue-only',
      severity: ERROR,
      comment: 'Only queue imports bullmq, and what the benchmark compares it with.',
      from: { pathNot: '^(packages/queue|bench)/' },
      to: { path: '^node_modules/bullmq/' },
    },
    {
      name: 'prisma-in-store-only',
      severity: ERROR,
      comment: 'Only store imports Prisma.',
      from: { pathNot: ['^packages/store/', '^prisma[.]config[.]ts$'] },
      to: { path: ['^node_modules/(@prisma|prisma)/', '^packages/store/src/generated/'] },
    },
    {
      name: 'no-tests-outside-of-tests',
      severity: ERROR,
      comment: 'What runs imports no test.',
      from: { pathNot: TEST },
      to: { path: TEST },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '/generated/'] },
    exclude: { path: ['/dist/'] },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: 'specify',
    combinedDependencies: false,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['source', 'import', 'node', 'default', 'types'],
      extensions: ['.ts', '.js', '.json'],
    },
    cache: { folder: 'node_modules/.cache/dependency-cruiser', strategy: 'content' },
  },
};
