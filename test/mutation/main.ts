/**
 * Mutation testing with StrykerJS: changes the code in one place at a time and reports the changes
 * that no test notices.
 *
 *     npm run mutation -- src/status-manager/status
 *     npm run mutation -- src/status-manager/status/qos.ts test/status-manager/status/qos.test.ts
 *
 * Paths of `src` are mutated, with the tests at the paths of `test`. Without any, the tests are
 * those of the folders with the same names below `test`.
 */
import { dirname } from 'node:path';
import { Stryker } from '@stryker-mutator/core';

const paths = process.argv.slice(2).map((path) => path.replace(/\/$/u, ''));
const sources = paths.filter((path) => path.startsWith('src/'));
const tests = paths.filter((path) => path.startsWith('test/'));
if (sources.length === 0 || sources.length + tests.length !== paths.length) {
  throw new TypeError('Expected folders or files: `src/…` to mutate, `test/…` to run');
}

const isFile = (path: string): boolean => path.endsWith('.ts');
const testsOf = (source: string): string => (isFile(source) ? dirname(source) : source).replace(/^src/u, 'test');

// Stryker's workers inherit it: vitest.config.ts.
process.env['MUTATION_TESTS'] = JSON.stringify(
  (tests.length > 0 ? tests : sources.map(testsOf)).map((path) => (isFile(path) ? path : `${path}/**/*.test.ts`)),
);

await new Stryker({
  mutate: [
    ...sources.map((path) => (isFile(path) ? path : `${path}/**/*.ts`)),
    // Generated.
    '!**/{cri-api,kube-types,object-readers}.ts',
    // Its tests start processes.
    '!**/directory-lock.ts',
  ],
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutation/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // Constants: each would need a new worker and every test.
  ignoreStatic: true,
  concurrency: 2,
  // Stryker would read it with functions that TypeScript 7 does not have, and insert
  // `@ts-nocheck`, which the test of the generated file would notice.
  tsconfigFile: 'none',
  disableTypeChecks: false,
  tempDirName: '.stryker/sandbox',
  // Sandboxes of other runs, too.
  ignorePatterns: ['/dist', '/docs', '/api', '/bench', '/.stryker'],
  reporters: ['progress-append-only', 'clear-text', 'html'],
  clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
  htmlReporter: { fileName: '.stryker/report.html' },
  allowConsoleColors: false,
}).runMutationTest();
