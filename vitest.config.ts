import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`src/${path}`, import.meta.url));
/** Where `.ci/run` wants the results as JSON besides. */
const jsonFile = process.env['VITEST_JSON_FILE'];

// Nothing may depend on the zone of the machine, which is UTC too often.
process.env['TZ'] = 'America/New_York';

export default defineConfig({
  resolve: {
    alias: [
      { find: /^kubelet-status-manager$/, replacement: source('status-manager/index.ts') },
      { find: /^kubelet-status-manager\/(agent|cri|testing)$/, replacement: source('$1/index.ts') },
      { find: /^kubelet-status-manager\/(http|informer)$/, replacement: source('kube/$1/index.ts') },
      { find: /^kubelet-status-manager\/prometheus$/, replacement: source('observe/prometheus.ts') },
      { find: /^kubelet-status-manager\/statusz$/, replacement: source('observe/statusz/index.ts') },
    ],
  },
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 90_000,
    reporters: jsonFile ? ['default', ['json', { outputFile: jsonFile }]] : ['default'],
  },
});
