import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

/*
 * Each fact stands in one place, or forgetting its second place does not compile: every case here makes
 * the first half of a change in a copy of src/ and expects the compiler to name the file of the second.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));

interface HalfChange {
  readonly change: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
  /** Where the compiler has to complain. */
  readonly secondHalf: string;
  /** Default: all of src but the script of the status page, which has a project of its own. */
  readonly project?: string;
}

const halfChanges: readonly HalfChange[] = [
  {
    change: 'a member of PodStatus',
    file: 'src/types.ts',
    find: 'export interface PodStatus {\n',
    replace: 'export interface PodStatus {\n  readonly newMember?: string;\n',
    secondHalf: 'src/status/status-members.ts',
  },
  {
    change: 'a member of ContainerStatus',
    file: 'src/types.ts',
    find: 'export interface ContainerStatus {\n',
    replace: 'export interface ContainerStatus {\n  readonly newMember?: string;\n',
    secondHalf: 'src/status/status-members.ts',
  },
  {
    change: 'a member of the status that only others write',
    file: 'src/status/ownership.ts',
    find: "  'resourceClaimStatuses',\n",
    replace: "  'resourceClaimStatuses',\n  'resources',\n",
    secondHalf: 'src/testing/api-server/node-restriction.ts',
  },
  {
    change: 'what a version in the cache consists of: statuses enter it in three places',
    file: 'src/cache/pod-status-cache.ts',
    find: "export type NewPodStatus = Pick<VersionedPodStatus, 'podName' ",
    replace: "export type NewPodStatus = Pick<VersionedPodStatus, 'version' | 'podName' ",
    secondHalf: 'src/cache/adopt-statuses.ts',
  },
  {
    change: 'a request to the API server',
    file: 'src/client/pod-client.ts',
    find: 'export interface PodClient {\n',
    replace: 'export interface PodClient {\n  newRequest(): Promise<void>;\n',
    secondHalf: 'src/client/http/http-pod-client.ts',
  },
  {
    change: 'what a pod may wait for',
    file: 'src/sync/waiting-for.ts',
    find: "readonly kind: 'next-batch'",
    replace: "readonly kind: 'new-kind' | 'next-batch'",
    secondHalf: 'src/manager/status-gauges.ts',
  },
  {
    change: 'what a pod may wait for, in words',
    file: 'src/sync/waiting-for.ts',
    find: "readonly kind: 'next-batch'",
    replace: "readonly kind: 'new-kind' | 'next-batch'",
    secondHalf: 'src/statusz/client/words.js',
    project: 'src/statusz/client',
  },
  {
    change: 'an outcome, in words',
    file: 'src/sync/outcomes.ts',
    find: "readonly outcome: 'written' | ",
    replace: "readonly outcome: 'new-outcome' | 'written' | ",
    secondHalf: 'src/statusz/client/words.js',
    project: 'src/statusz/client',
  },
  {
    change: 'a class of failed requests',
    file: 'src/client/api-error.ts',
    find: "  'not-visible',\n",
    replace: "  'not-visible',\n  'new-class',\n",
    secondHalf: 'src/sync/failure-classes.ts',
  },
  {
    change: 'an outcome',
    file: 'src/sync/outcomes.ts',
    find: "readonly outcome: 'written' | ",
    replace: "readonly outcome: 'new-outcome' | 'written' | ",
    secondHalf: 'src/sync/outcomes.ts',
  },
  {
    change: 'a metric',
    file: 'src/metrics.ts',
    find: 'export interface Metrics {\n',
    replace: 'export interface Metrics {\n  incNewMetric(): void;\n',
    secondHalf: 'src/prometheus.ts',
  },
  {
    change: 'a verb of the test server',
    file: 'src/testing/api-server/request.ts',
    find: "export type Verb = 'get'",
    replace: "export type Verb = 'new-verb' | 'get'",
    secondHalf: 'src/testing/api-server/handlers.ts',
  },
  {
    change: 'a subresource of the test server',
    file: 'src/testing/api-server/subresources.ts',
    find: "export type SubresourceName = 'status'",
    replace: "export type SubresourceName = 'new-subresource' | 'status'",
    secondHalf: 'src/testing/api-server/handlers.ts',
  },
];

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(path.join(tmpdir(), 'half-changes-'));
  for (const name of ['src', 'package.json', 'tsconfig.json']) {
    cpSync(path.join(root, name), path.join(copy, name), { recursive: true });
  }
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const config = { extends: './tsconfig.json', compilerOptions: { noEmit: true }, include: ['src'] };
  writeFileSync(path.join(copy, 'tsconfig.src.json'), JSON.stringify(config));
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

/** What the compiler says of the copy; '' when nothing is wrong. */
async function compile(project = 'tsconfig.src.json'): Promise<string> {
  const tsc = path.join(root, 'node_modules/typescript/bin/tsc');
  try {
    await promisify(execFile)(process.execPath, [tsc, '-p', project, '--pretty', 'false'], { cwd: copy });
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

describe('one half of a change', () => {
  it('is the only thing wrong in the copy', async () => {
    expect(await compile()).toBe('');
    expect(await compile('src/statusz/client')).toBe('');
  });

  it.each(halfChanges)(
    '$change alone does not compile in $secondHalf',
    async ({ file, find, replace, secondHalf, project }) => {
      const target = path.join(copy, file);
      const before = readFileSync(target, 'utf8');
      expect(before).toContain(find);
      writeFileSync(target, before.replace(find, replace));
      try {
        expect(await compile(project)).toContain(`${secondHalf}(`);
      } finally {
        writeFileSync(target, before);
      }
    },
  );
});
