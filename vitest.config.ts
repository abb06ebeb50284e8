import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));
/** Where `.ci/run` wants the results as JSON besides. */
const jsonFile = process.env['VITEST_JSON_FILE'];

// Nothing may depend on the zone of the machine, which is UTC too often.
process.env['TZ'] = 'America/New_York';

/** Tests that start processes, browsers or real API servers, wait for them, or repeat a fast test with more input: `npm run test:slow`. */
export const slow = [
  'test/**/*servers.test.ts',
  'test/api-server/kubectl.test.ts',
  'test/build/**/*.test.ts',
  'test/contract/**/*.test.ts',
  'test/cri/{check-cri-runtime,create-runtime-helper,cri-runtime}.test.ts',
  'test/e2e/**/*.test.ts',
  'test/examples/*.test.ts',
  'examples/testing/provider.test.ts',
  'test/growth/*.test.ts',
  'test/node/pod-copies/*.test.ts',
  'test/observe/outages/night.test.ts',
  'test/observe/outages/virtual-nodes-drill.test.ts',
  'test/observe/statusz/*browser.test.ts',
  'test/process-runtime/{broken,check-process-runtime,process-group,process-runtime}.test.ts',
  'test/status-manager/properties/callbacks-in-all-traces.test.ts',
  'test/support/node/*.test.ts',
];

/** They replace modules of Node.js or subscribe to channels of the process, and so have modules of their own; all other files of a worker share theirs. */
const isolated = [
  'test/status-manager/journal/{fsync-policy,full-disk,killed}.test.ts',
  'test/status-manager/tracing/opentelemetry.test.ts',
];

export default defineConfig({
  resolve: {
    alias: [
      { find: /^kubelet-status-manager$/, replacement: source('status-manager/index.ts') },
      {
        find: /^kubelet-status-manager\/(agent|cri|kubelet-api|process-runtime|testing|virtual-nodes)$/,
        replacement: source('$1/index.ts'),
      },
      { find: /^kubelet-status-manager\/(http|informer)$/, replacement: source('kube/$1/index.ts') },
      { find: /^kubelet-status-manager\/prometheus$/, replacement: source('observe/prometheus.ts') },
      { find: /^kubelet-status-manager\/statusz$/, replacement: source('observe/statusz/index.ts') },
    ],
  },
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['{test,examples}/**/*.test.ts'],
          exclude: [...slow, ...isolated],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'unit-isolated', include: isolated } },
      { extends: true, test: { name: 'slow', include: slow, testTimeout: 180_000 } },
    ],
    pool: 'forks',
    maxWorkers: 2,
    // Ends what hangs; no test measures time, and beside other work some take ten times as long as alone.
    testTimeout: 60_000,
    hookTimeout: 90_000,
    // The default of one second is too short for a process that starts beside busy ones.
    expect: { poll: { timeout: 15_000 } },
    reporters: jsonFile ? ['default', ['json', { outputFile: jsonFile }]] : ['default'],
  },
});
