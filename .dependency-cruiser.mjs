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
  node: ['observe', 'status-manager', 'kube', 'shared'],
  agent: ['node', 'observe', 'status-manager', 'kube', 'shared'],
  cri: ['node', 'status-manager', 'kube', 'shared'],
  'process-runtime': ['node', 'status-manager', 'kube', 'shared'],
  'kubelet-api': ['node', 'observe', 'status-manager', 'kube', 'shared'],
  'virtual-nodes': ['node', 'observe', 'status-manager', 'kube', 'shared'],
  testing: ['api-server', 'agent', 'virtual-nodes', 'node', 'status-manager', 'kube', 'shared'],
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

/** Folders of an area, from the top down. Each may import those below its own line. */
const floors = {
  node: [
    ['pipeline', 'http-server'],
    ['admission', 'sync-loop'],
    ['pod-workers', 'prober', 'volumes'],
    ['status'],
    ['container-options', 'allocation', 'config'],
    ['registration'],
    ['runtime', 'events', 'certificate', 'probes'],
    ['host-paths', 'pod-spec'],
  ],
  agent: [
    ['http-server'],
    ['node-agent'],
    ['eviction'],
    ['container-gc', 'pod-syncer'],
    ['pleg', 'actions', 'runtime-helper'],
    ['volumes', 'credential-providers'],
    ['admission', 'allocation', 'back-off', 'container-options', 'image-gc', 'image-pulls', 'mirror'],
  ],
};

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
    ...Object.entries(floors).flatMap(([area, folders]) =>
      folders.map((names, floor) => ({
        name: `${area}/${names.join(', ')}`,
        severity: 'error',
        from: { path: `^src/${area}/(${names.join('|')})/` },
        to: {
          path: `^src/${area}/(${folders
            .slice(0, floor + 1)
            .flat()
            .join('|')})/`,
          pathNot: `^src/${area}/$1/`,
        },
      })),
    ),
    {
      name: 'door-of-node',
      comment: 'What a node consists of is reached by its index only.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/node/' },
      to: { path: '^src/node/', pathNot: '^src/node/index[.]ts$' },
    },
    {
      name: 'owners-of-pod-scopes',
      comment: 'Only the owner of a pod creates and closes its scope; all others get a PodScope.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(node/(index|pod-workers/pod-sync-status(es)?)|agent/(runtime-helper/create-runtime-helper|volumes/pod-volumes))[.]ts$',
      },
      to: { path: '^src/node/owned-pod-scope[.]ts$' },
    },
    {
      name: 'status-is-pure',
      comment: 'Pure functions over pod statuses: no clock, no logger, no request, no package of Node.js.',
      severity: 'error',
      from: { path: '^src/status-manager/status/' },
      to: {
        pathNot: [
          '^src/status-manager/status/',
          '^src/kube/(objects/(types|kube-object|quantity|ip-address)|pods/(static-pods|resizable-resources)|client/pod-client)\\.ts$',
          '^src/shared/(by-field|errors|json|time)\\.ts$',
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
