/**
 * Mutation testing with StrykerJS: changes the code in one place at a time and reports the changes
 * that no test notices.
 *
 *     npm run mutation -- src/status-manager/status
 *     npm run mutation -- src/status-manager/status/qos.ts test/status-manager/status/qos.test.ts
 *
 * Paths of `src` are mutated, with the tests at the paths of `test`. Without any, the tests are
 * those of the folders with the same names below `test`. The last line is the row for the table of
 * docs/internals/testing.md, which is printed without arguments:
 *
 *     npm run mutation
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { Stryker } from '@stryker-mutator/core';

const { args } = new Command('npm run mutation --')
  .description(
    'Changes the code in one place at a time and reports the changes that no test notices. Without paths, prints the scores that docs/internals/testing.md has.',
  )
  .argument('[paths...]', 'src/… to mutate; test/… to run, by default the folders with the same names below test')
  .exitOverride(exitAfterUsage)
  .parse();

if (args.length === 0) {
  const [, section = ''] =
    /\n## Mutation scores\n([^]*)/u.exec(readFileSync('docs/internals/testing.md', 'utf8')) ?? [];
  console.log(section.trim());
  process.exit();
}

const paths = args.map((path) => path.replace(/\/$/u, ''));
const sources = paths.filter((path) => path.startsWith('src/'));
const tests = paths.filter((path) => path.startsWith('test/'));
if (sources.length === 0 || sources.length + tests.length !== paths.length) {
  throw new TypeError('Expected folders or files: `src/…` to mutate, `test/…` to run');
}

const isFile = (path: string): boolean => path.endsWith('.ts');
const testsOf = (source: string): string => (isFile(source) ? dirname(source) : source).replace(/^src/u, 'test');

const testPaths = tests.length > 0 ? tests : sources.map(testsOf);
const missing = testPaths.filter((path) => !existsSync(path));
if (missing.length > 0) throw new TypeError(`There is no ${missing.join(', ')}: name the tests, too`);

// Stryker's workers inherit it: vitest.config.ts.
process.env['MUTATION_TESTS'] = JSON.stringify(testPaths.map((path) => (isFile(path) ? path : `${path}/**/*.test.ts`)));

const results = await new Stryker({
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

const countOf = (...statuses: readonly string[]): number =>
  results.filter(({ status }) => statuses.includes(status)).length;
const noticed = countOf('Killed', 'Timeout');
const changes = noticed + countOf('Survived', 'NoCoverage');
const list = (list: readonly string[]): string => list.map((path) => `\`${path}\``).join(', ');
const share = ((noticed / changes) * 100).toFixed(1);
console.log(
  `| ${list(sources)} | ${tests.length > 0 ? list(tests) : 'those of the folder'} | ${changes} | ${share} % |`,
);
