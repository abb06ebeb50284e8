/**
 * Who may import whom. Everything that is not allowed here is an error, and so is a circle.
 *
 * Area → the areas that it may import. Each area imports itself, too.
 */
const areas = {
  shared: [],
  kube: ['shared'],
  'status-manager': ['kube', 'shared'],
  observe: ['status-manager', 'kube', 'shared'],
  'api-server': ['status-manager', 'kube', 'shared'],
  agent: ['observe', 'status-manager', 'kube', 'shared'],
  cri: ['agent', 'status-manager', 'kube', 'shared'],
  'kubelet-api': ['agent', 'status-manager', 'kube', 'shared'],
  provider: ['agent', 'observe', 'status-manager', 'kube', 'shared'],
  testing: ['api-server', 'agent', 'status-manager', 'kube', 'shared'],
};

/** Inside the status manager: folder → the folders that it may import. `.` stands for the files beside them. */
const statusManager = {
  status: [],
  allocation: ['status'],
  journal: ['status'],
  cache: ['status', '.'],
  sync: ['status', 'cache', '.'],
  explain: ['status', 'cache', 'sync', '.'],
};

/** Inside the agent: folders from the agent down to the runtime. Each may import those below its own line. */
const agent = [
  ['http-server'],
  ['node-agent'],
  ['pipeline'],
  ['admission'],
  ['sync-loop', 'eviction'],
  ['pleg', 'container-gc'],
  ['pod-workers'],
  ['status'],
  ['actions', 'runtime-helper'],
  ['prober', 'volumes', 'credential-providers'],
  ['container-options'],
  ['allocation', 'config', 'back-off', 'node', 'image-gc', 'image-pulls'],
  ['mirror', 'runtime', 'events', 'certificate'],
  ['host-paths', 'pod-spec'],
];

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  allowedSeverity: 'error',
  allowed: [
    // Files beside the areas, packages and Node.js; each package in package.json: knip.
    { from: { pathNot: '^src/' }, to: {} },
    { from: { path: '^src/' }, to: { pathNot: '^(src|test|bench|examples|dist)/' } },
    { from: { path: '^src/([^/]+)/' }, to: { path: '^src/$1/' } },
    ...Object.entries(areas).map(([area, imports]) => ({
      from: { path: `^src/${area}/` },
      to: { path: `^src/(${[area, ...imports].join('|')})/` },
    })),
  ],
  forbidden: [
    { name: 'no-circle', severity: 'error', from: { path: '^src/' }, to: { circular: true } },
    ...agent.map((folders, floor) => ({
      name: `agent/${folders.join(', ')}`,
      severity: 'error',
      from: { path: `^src/agent/(${folders.join('|')})/` },
      to: {
        path: `^src/agent/(${agent
          .slice(0, floor + 1)
          .flat()
          .join('|')})/`,
        pathNot: '^src/agent/$1/',
      },
    })),
    {
      name: 'owners-of-pod-scopes',
      comment: 'Only the owner of a pod creates and closes its scope; all others get a PodScope.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/agent/(pod-workers/pod-sync-status(es)?|runtime-helper/create-runtime-helper|volumes/pod-volumes)[.]ts$',
      },
      to: { path: '^src/agent/owned-pod-scope[.]ts$' },
    },
    {
      name: 'status-is-pure',
      comment: 'Pure functions over pod statuses: no clock, no logger, no request, no package of Node.js.',
      severity: 'error',
      from: { path: '^src/status-manager/status/' },
      to: {
        pathNot: [
          '^src/status-manager/status/',
          '^src/kube/(types|static-pods|quantity|resizable-resources|ip-address|client/pod-client)\\.ts$',
          '^src/shared/(errors|json|time)\\.ts$',
          '^node_modules/(lodash|fast-json-patch)/',
        ],
      },
    },
    ...Object.entries(statusManager).map(([folder, imports]) => ({
      name: `status-manager/${folder}`,
      severity: 'error',
      from: { path: `^src/status-manager/${folder}/` },
      to: {
        path: '^src/status-manager/',
        pathNot: [folder, ...imports].map((name) =>
          name === '.' ? '^src/status-manager/[^/]+\\.ts$' : `^src/status-manager/${name}/`,
        ),
      },
    })),
  ],
  options: { parser: 'swc', tsPreCompilationDeps: true, doNotFollow: { path: 'node_modules' } },
};
