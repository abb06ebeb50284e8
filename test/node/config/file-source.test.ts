import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { fileSource, type PodSource } from 'kubelet-status-manager/agent';
import { FakeClock, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { FileSourceOptions } from '../../../src/node/config/file-source.ts';
import { podSourceContext } from '../../../src/node/config/decode-manifest.ts';

let directory: string;
let clock: FakeClock;
let logger: RecordingLogger;
let source: PodSource | undefined;
let lists: Pod[][];
let waiting: { readonly fits: (names: string) => boolean; readonly resolve: () => void }[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'manifests-'));
  clock = new FakeClock();
  logger = recordingLogger();
  lists = [];
  waiting = [];
});
afterEach(async () => {
  await source?.stop();
  await rm(directory, { recursive: true, force: true });
});

const namesOf = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata?.name).join(' ');

function start({ nodeName = 'node-a', ...options }: Partial<FileSourceOptions & { nodeName: string }> = {}): void {
  const context = podSourceContext({ nodeName, clock, logger, apiPods: undefined });
  source = fileSource({ path: directory, parse, ...options });
  source.start((pods) => {
    lists.push([...pods]);
    const met = waiting.filter(({ fits }) => fits(namesOf(pods)));
    waiting = waiting.filter(({ fits }) => !fits(namesOf(pods)));
    for (const { resolve } of met) resolve();
  }, context);
}

/** The files were last changed an hour before the start. */
function startLongAfterLastChange(): void {
  clock = new FakeClock(Date.now() + 3_600_000);
}

/** Resolves at the next list with pods of exactly these names. */
function nextList(names: string): Promise<void> {
  return new Promise((resolve) => waiting.push({ fits: (listed) => listed === names, resolve }));
}

/** Resolves when the next error has been logged. */
function nextError(): Promise<void> {
  const { error } = logger;
  return new Promise((resolve) => {
    logger.error = (...args) => {
      error.call(logger, ...args);
      resolve();
    };
  });
}

const yaml = (name: string, image = 'app'): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec: {containers: [{name: app, image: ${image}}]}\n`;

const write = (file: string, text: string): Promise<void> => writeFile(join(directory, file), text);

it('TestReadPodsFromFileExistAlready', async () => {
  await write('web.yaml', yaml('web'));
  await write('.hidden.yaml', yaml('hidden'));
  await mkdir(join(directory, 'folder'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  const [pod] = lists[0]!;
  const { uid } = pod!.metadata!;
  expect(uid).toMatch(/^[0-9a-f]{32}$/);
  expect(pod).toMatchObject({
    metadata: { name: 'web-node-a', namespace: 'default', annotations: { 'kubernetes.io/config.hash': uid } },
    spec: {
      nodeName: 'node-a',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    },
    status: { phase: 'Pending' },
  });
});

it('TestExtractFromEmptyDir', async () => {
  const listed = nextList('');
  start();
  await listed;
  expect(lists).toEqual([[]]);
  expect(logger.lines).toEqual([]);
});

it('TestUpdateOnNonExistentFile', async () => {
  const path = join(directory, 'later');
  const empty = nextList('');
  start({ path });
  await empty;
  expect(lists).toEqual([[]]);
  expect(logger.lines).toEqual([
    { level: 'error', message: 'Unable to read manifests', fields: { path, reason: 'does not exist' } },
  ]);
  await mkdir(path);
  await writeFile(join(path, 'web.yaml'), yaml('web'));
  const listed = nextList('web-node-a');
  await clock.advanceAsync(0);
  clock.advance(1000);
  await listed;
  expect(logger.lines).toHaveLength(1);
});

it('TestWatchFileAdded', async () => {
  const empty = nextList('');
  start();
  await empty;
  const added = nextList('web-node-a');
  await write('web.yaml', yaml('web'));
  await added;
  await source!.stop();
  expect(namesOf(lists.at(-1)!)).toBe('web-node-a');
  expect(clock.pendingTimers).toBe(0);
});

it('TestWatchFileChanged', async () => {
  await write('a.yaml', yaml('a'));
  const listed = nextList('a-node-a');
  start();
  await listed;
  const [before] = lists.at(-1)!;
  const both = nextList('b-node-a');
  await rename(join(directory, 'a.yaml'), join(directory, '.a'));
  await writeFile(join(directory, '.a'), yaml('b'));
  await rename(join(directory, '.a'), join(directory, 'b.yaml'));
  await both;
  const [after] = lists.at(-1)!;
  expect(after?.metadata?.uid).not.toBe(before?.metadata?.uid);
  const removed = nextList('');
  await rm(join(directory, 'b.yaml'));
  await removed;
});

describe('TestExtractFromBadDataFile', () => {
  it('is logged once and skipped, and its content is not logged', async () => {
    await write('bad.yaml', 'secret: {');
    await write('good.yaml', yaml('good'));
    startLongAfterLastChange();
    const listed = nextList('good-node-a');
    start();
    await listed;
    await clock.advanceAsync(0);
    const again = nextList('good-node-a');
    clock.advance(20_000);
    await again;
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([['error', 'Skipping manifest']]);
    expect(JSON.stringify(logger.lines)).not.toContain('secret');
  });

  it('a refused manifest is shown with path, reason and since when, until it is valid', async () => {
    await write('bad.json', JSON.stringify({ ...parse(yaml('bad')), spec: { containers: [{ name: 'app' }] } }));
    await write('good.yaml', yaml('good'));
    startLongAfterLastChange();
    const listed = nextList('good-node-a');
    start();
    await listed;
    const since = timeFromEpochMs(clock.now());
    const refused = [
      { source: join(directory, 'bad.json'), reason: 'spec.containers[0].image: Required value', since },
    ];
    expect(source!.refusedManifests!()).toEqual(refused);
    expect(logger.lines.map(({ fields }) => fields)).toEqual([
      { path: refused[0]!.source, reason: refused[0]!.reason },
    ]);
    await clock.advanceAsync(0);
    const again = nextList('good-node-a');
    await clock.advanceAsync(20_000);
    await again;
    expect(source!.refusedManifests!()).toEqual(refused);
    const both = nextList('bad-node-a good-node-a');
    await write('bad.json', JSON.stringify(parse(yaml('bad'))));
    await both;
    expect(source!.refusedManifests!()).toEqual([]);
  });

  it('a file that is being written at a periodic read keeps its pod, until it is invalid and unchanged for a period', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'manifest-'));
    try {
      // What is written there is no event of the folder.
      const target = join(outside, 'web.yaml');
      await writeFile(target, yaml('web'));
      await symlink(target, join(directory, 'web.yaml'));
      const next = async (names: string, ms: number): Promise<void> => {
        const listed = nextList(names);
        await (ms === 0 ? start() : clock.advanceAsync(ms));
        await listed;
        await clock.advanceAsync(0);
      };
      await next('web-node-a', 0);
      await writeFile(target, 'kind: {');
      await next('web-node-a', 20_000);
      await writeFile(target, 'kind: {{');
      await next('web-node-a', 20_000);
      await next('', 20_000);
      await writeFile(target, yaml('web'));
      await next('web-node-a', 20_000);
      expect(logger.lines.map(({ message }) => message)).toEqual(['Skipping manifest']);
    } finally {
      await rm(outside, { recursive: true });
    }
  });

  it('a file that is being written when the agent starts is no list without its pod', async () => {
    await write('web.yaml', yaml('web').slice(0, 30));
    await write('other.yaml', yaml('other'));
    const failed = nextError();
    start();
    await failed;
    await clock.advanceAsync(0);
    const listed = nextList('other-node-a web-node-a');
    await write('web.yaml', yaml('web'));
    await listed;
    expect(lists.map(namesOf)).toEqual(['other-node-a web-node-a']);
  });

  it('a file that stays invalid delays the first list until it has not changed for a period', async () => {
    await write('other.yaml', yaml('other'));
    // The last one that is read.
    await write('zzz.yaml', 'kind: {');
    const failed = nextError();
    start();
    await failed;
    await clock.advanceAsync(0);
    expect(lists).toEqual([]);
    const listed = nextList('other-node-a');
    await clock.advanceAsync(20_000);
    await listed;
  });

  it('a file that is written all the time delays the first list for three periods, not for ever', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'manifest-'));
    try {
      // What is written there is no event of the folder.
      const target = join(outside, 'log');
      // The last one that is read. Each time it is invalid for another reason, which is logged.
      await symlink(target, join(directory, 'zzz'));
      await write('web.yaml', yaml('web'));
      const listed = nextList('web-node-a');
      for (const [text, ms] of [
        ['text', 0],
        ['kind: {', 20_000],
        ['text', 20_000],
        ['kind: {', 20_000],
      ] as const) {
        expect(lists).toEqual([]);
        await writeFile(target, text);
        const failed = nextError();
        await (ms === 0 ? start() : clock.advanceAsync(ms));
        await failed;
        await clock.advanceAsync(0);
      }
      await listed;
    } finally {
      await rm(outside, { recursive: true });
    }
  });

  it('a file that has been invalid for long delays nothing', async () => {
    await write('bad.yaml', 'kind: {');
    await write('other.yaml', yaml('other'));
    startLongAfterLastChange();
    const listed = nextList('other-node-a');
    start();
    await listed;
    expect(lists).toHaveLength(1);
  });

  it('a file that becomes invalid keeps its pod until the next periodic read', async () => {
    await write('web.yaml', yaml('web'));
    const listed = nextList('web-node-a');
    start();
    await listed;
    const changed = nextList('web-node-a');
    // One event: a file that is written in place has several.
    await write('.web', 'kind: {');
    await rename(join(directory, '.web'), join(directory, 'web.yaml'));
    await changed;
    await clock.advanceAsync(0);
    const dropped = nextList('');
    await clock.advanceAsync(20_000);
    await dropped;
    expect(logger.lines.map(({ message }) => message)).toEqual(['Skipping manifest']);
  });
});

it('a FIFO among the manifests is refused, and delays no pod', async () => {
  execFileSync('mkfifo', [join(directory, 'a.yaml')]);
  await write('web.yaml', yaml('web'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  const path = join(directory, 'a.yaml');
  expect(logger.errors).toMatchObject([
    { message: 'Skipping manifest', fields: { path, reason: `${path} is a FIFO, not a regular file` } },
  ]);
});

it('a symbolic link to a manifest is read, a broken one is ignored', async () => {
  await write('.web', yaml('web'));
  await symlink('.web', join(directory, 'web.yaml'));
  await symlink('.nothing', join(directory, 'zzz.yaml'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  expect(logger.lines).toEqual([]);
});

it('the UID is the same whatever the order of the fields, and differs by node, file and content', async () => {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'a', image: 'a' }] },
  };
  const uids: unknown[] = [];
  for (const [options, text] of [
    [{}, JSON.stringify(manifest)],
    [{}, JSON.stringify(Object.fromEntries(Object.entries(manifest).toReversed()))],
    [{ nodeName: 'other' }, JSON.stringify(manifest)],
    [{}, JSON.stringify({ ...manifest, metadata: { name: 'web', labels: { a: 'b' } } })],
  ] as const) {
    await write('web.json', text);
    const nodeName = 'nodeName' in options ? options.nodeName : 'node-a';
    const listed = nextList(`web-${nodeName}`);
    start({ nodeName, parse: undefined });
    await listed;
    uids.push(lists.at(-1)?.[0]?.metadata?.uid);
    await source!.stop();
  }
  expect(uids[0]).toBe(uids[1]);
  expect(new Set(uids).size).toBe(3);
});

it('two manifests with one pod name: the log says once which one is ignored', async () => {
  await write('a.yaml', yaml('web'));
  await write('b.yaml', yaml('web'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  for (let reads = 0; reads < 2; reads++) {
    const again = nextList('web-node-a');
    await clock.advanceAsync(20_000);
    await again;
  }
  expect(logger.lines).toEqual([
    {
      level: 'warn',
      message: 'Ignoring manifest: another file has a pod with the same name',
      fields: { path: join(directory, 'a.yaml'), usedPath: join(directory, 'b.yaml') },
    },
  ]);
});

describe('the path', () => {
  it('may be a single manifest', async () => {
    await write('web.yaml', yaml('web'));
    await write('other.yaml', yaml('other'));
    const listed = nextList('web-node-a');
    start({ path: join(directory, 'web.yaml') });
    await listed;
    await clock.advanceAsync(0);
    const changed = nextList('db-node-a');
    await write('web.yaml', yaml('db'));
    clock.advance(20_000);
    await changed;
    expect(namesOf(lists.at(-1)!)).toBe('db-node-a');
  });

  it('of an invalid manifest is logged and shown, and its last pod stays', async () => {
    await write('web.yaml', yaml('web'));
    const path = join(directory, 'web.yaml');
    const listed = nextList('web-node-a');
    start({ path });
    await listed;
    const since = timeFromEpochMs(clock.now());
    const refused = nextError();
    await write('.web', 'kind: Pod');
    await rename(join(directory, '.web'), path);
    await refused;
    const reason = 'Expected `apiVersion` to be v1';
    expect(source!.refusedManifests!()).toEqual([{ source: path, reason, since }]);
    expect(logger.lines).toEqual([{ level: 'error', message: 'Unable to read manifests', fields: { path, reason } }]);
    expect(namesOf(lists.at(-1)!)).toBe('web-node-a');
  });

  it('that is gone is the end of its pods, and it is watched again when it is back', async () => {
    const path = join(directory, 'manifests');
    await mkdir(path);
    await writeFile(join(path, 'web.yaml'), yaml('web'));
    let listed = nextList('web-node-a');
    start({ path });
    await listed;
    const refused = nextError();
    await rm(path, { recursive: true });
    await refused;
    expect(source!.refusedManifests!()).toMatchObject([{ source: path, reason: 'does not exist' }]);
    await clock.advanceAsync(0);
    expect(namesOf(lists.at(-1)!)).toBe('');
    await mkdir(path);
    await writeFile(join(path, 'web.yaml'), yaml('back'));
    let isBack = false;
    void nextList('back-node-a').then(() => (isBack = true));
    while (!isBack) await clock.advanceAsync(1000);
    expect(source!.refusedManifests!()).toEqual([]);
    // Without a tick of the clock.
    listed = nextList('more-node-a back-node-a');
    await writeFile(join(path, '.more'), yaml('more'));
    await rename(join(path, '.more'), join(path, 'more.yaml'));
    await listed;
  });

  it('that cannot be read keeps its pods', async () => {
    const path = join(directory, 'link');
    await mkdir(join(directory, 'manifests'));
    await writeFile(join(directory, 'manifests', 'web.yaml'), yaml('web'));
    await symlink('manifests', path);
    const listed = nextList('web-node-a');
    start({ path });
    await listed;
    await clock.advanceAsync(0);
    const refused = nextError();
    // A link to itself, which root cannot read either.
    await rm(path);
    await symlink('link', path);
    await clock.advanceAsync(20_000);
    await refused;
    expect(lists.map(namesOf)).toEqual(['web-node-a']);
    expect(source!.refusedManifests!()).toMatchObject([{ source: path, reason: expect.stringContaining('ELOOP') }]);
  });
});

it('all files are read again at the interval `fileCheckFrequencyMs`', async () => {
  let listed = nextList('');
  start({ fileCheckFrequencyMs: 3000 });
  await listed;
  await clock.advanceAsync(2999);
  expect(lists).toHaveLength(1);
  listed = nextList('');
  await clock.advanceAsync(1);
  await listed;
});

it('a folder that is watched is read again after 20 s besides', async () => {
  let listed = nextList('');
  start();
  await listed;
  await clock.advanceAsync(0);
  // A read that has begun has no timer.
  clock.advance(19_999);
  expect(clock.pendingTimers).toBe(1);
  listed = nextList('');
  clock.advance(1);
  await listed;
});

it('a source that is stopped while it reads delivers nothing, and nothing is left behind', async () => {
  await write('web.yaml', yaml('web'));
  start();
  await source!.stop();
  expect([lists, clock.pendingTimers]).toEqual([[], 0]);
  await write('db.yaml', yaml('db'));
  await clock.advanceAsync(20_000);
  expect([lists, clock.pendingTimers]).toEqual([[], 0]);
});

it('the source is named `file`', () => {
  expect(fileSource({ path: directory }).name).toBe('file');
});

it('a manifest that was refused and is gone is no longer shown', async () => {
  await write('bad.yaml', 'kind: {');
  startLongAfterLastChange();
  let listed = nextList('');
  start();
  await listed;
  expect(source!.refusedManifests!()).toHaveLength(1);
  listed = nextList('');
  await rm(join(directory, 'bad.yaml'));
  await listed;
  expect(source!.refusedManifests!()).toEqual([]);
});

it('a manifest that is larger than 10 MiB is refused', async () => {
  await write('large.yaml', '#'.repeat(10 * 2 ** 20 + 1));
  await write('web.yaml', yaml('web'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  expect(source!.refusedManifests!()).toMatchObject([
    { reason: `${join(directory, 'large.yaml')} is larger than 10485760 bytes` },
  ]);
});

it('of three manifests with one pod name, the last one is used, and the log names it for each of the others', async () => {
  await write('a.yaml', yaml('web', 'a'));
  await write('b.yaml', yaml('web', 'b'));
  await write('c.yaml', yaml('web', 'c'));
  const listed = nextList('web-node-a');
  start();
  await listed;
  expect(lists[0]?.[0]?.spec?.containers?.[0]?.image).toBe('c');
  expect(logger.lines.map(({ fields }) => fields)).toEqual([
    { path: join(directory, 'a.yaml'), usedPath: join(directory, 'b.yaml') },
    { path: join(directory, 'b.yaml'), usedPath: join(directory, 'c.yaml') },
  ]);
});

it.each<[string, string, object]>([
  ['path', 'the path of a folder or file', { path: '' }],
  ['path', 'the path of a folder or file', { path: undefined }],
  ['path', 'the path of a folder or file', { path: 7 }],
  ['parse', 'a function', { path: '/a', parse: 'yaml' }],
  ['fileCheckFrequencyMs', 'milliseconds > 0', { path: '/a', fileCheckFrequencyMs: 0 }],
  ['paths', 'absent', { path: '/a', paths: [] }],
])('a bad %s is refused: expected is %s', (path, expected, options) => {
  const create = (): PodSource => fileSource(options as FileSourceOptions);
  expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
  expect(create).toThrow(`Expected \`${path}\` to be ${expected}`);
});
