import { type Dirent, mkdirSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { HostDirectory } from '../../src/node/host-paths/host-directory.ts';
import {
  calcRestartCountByLogDir,
  evictPodLogsDirectories,
  linkLog,
  logLinksDirectory,
  logLinkName,
} from '../../src/cri/log-files.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => {
  vi.restoreAllMocks();
  directories.removeAll();
});

it.each([
  ['no folder', undefined, 0],
  ['no logs', [], 0],
  ['one log', ['0.log'], 1],
  ['several, and a rotated one of a later run', ['9.log', '10.log', '11.log.20260102-030405.gz'], 12],
  ['other files', ['2.log', 'app.log', '7', 'x7.log'], 3],
])('calcRestartCountByLogDir: %s', async (_name, files, expected) => {
  const folder = join(directories.create(), 'app');
  if (files !== undefined) mkdirSync(folder);
  for (const name of files ?? []) writeFileSync(join(folder, name), '');
  expect(await calcRestartCountByLogDir(systemFiles, folder)).toBe(expected);
});

it('calcRestartCountByLogDir: more logs than a function has arguments', async () => {
  vi.spyOn(HostDirectory.prototype, 'entries').mockImplementation(async function* () {
    for (let run = 0; run < 200_000; run += 1) yield { name: Buffer.from(`${run}.log`) } as Dirent<Buffer>;
  });
  expect(await calcRestartCountByLogDir(systemFiles, directories.create())).toBe(200_000);
});

it('logLinkName: at most 255 characters', () => {
  const pod = { metadata: { name: 'web', namespace: 'shop', uid: 'u' } };
  expect(logLinkName(pod.metadata, 'app', 'c1')).toBe('web_shop_app-c1.log');
  const long = logLinkName({ ...pod.metadata, name: 'n'.repeat(250) }, 'app', 'c1');
  expect(long).toMatch(/^n{250}_\.log$/);
});

it('evictPodLogsDirectories removes the logs of removed pods, and links without a log; one list shows which containers are live', async () => {
  const root = directories.create();
  const podLogsDirectory = join(root, 'pods');
  const linksDirectory = logLinksDirectory(podLogsDirectory);
  mkdirSync(linksDirectory);
  for (const [name, id] of [
    ['default_gone_u1', 'gone01'],
    ['default_kept_u2', 'kept02'],
  ] as const) {
    const log = join(podLogsDirectory, name, '0.log');
    mkdirSync(join(podLogsDirectory, name), { recursive: true });
    writeFileSync(log, '');
    await linkLog(systemFiles, join(linksDirectory, `p_default_app-${id}.log`), log);
  }
  mkdirSync(join(podLogsDirectory, 'other'));
  let lists = 0;
  const evict = (...live: string[]): Promise<void> => {
    const listLiveContainers = async () => {
      lists++;
      return new Set(live);
    };
    const folders = { podLogsDirectory, listLiveContainers, logger: silentLogger };
    return evictPodLogsDirectories(systemFiles, folders, (podUID) => podUID === 'u1');
  };
  await evict('gone01');
  expect(readdirSync(podLogsDirectory)).toEqual(['default_kept_u2', 'other']);
  // A log is missing for a moment while it is rotated.
  expect(readdirSync(linksDirectory)).toHaveLength(2);
  await evict();
  expect(readdirSync(linksDirectory)).toEqual(['p_default_app-kept02.log']);
  await evict();
  expect(lists).toBe(2);
});

it('linkLog creates no link to a log that does not exist, says so, and leaves a link that is there', async () => {
  const folder = directories.create();
  const [log, link] = [join(folder, '0.log'), join(folder, 'a.log')];
  expect(await linkLog(systemFiles, link, log)).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
  writeFileSync(log, '');
  expect([await linkLog(systemFiles, link, log), await linkLog(systemFiles, link, log)]).toEqual([true, true]);
  expect(readlinkSync(link)).toBe(log);
});
