import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { ContainerLogManager } from '../../src/cri/container-log-manager.ts';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function setUp({ maxFiles = 3, reopen = async (): Promise<void> => {} } = {}) {
  const folder = directories.create();
  const path = join(folder, '0.log');
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const logger = recordingLogger();
  const reopened: string[] = [];
  const manager = new ContainerLogManager({
    listLogs: async () => [{ containerID: 'c1', path }],
    reopenContainerLog: async (id) => {
      reopened.push(id);
      await reopen();
      writeFileSync(path, '', { flag: 'a' });
    },
    maxSizeBytes: 10,
    maxFiles,
    clock,
    logger,
  });
  return { folder, path, clock, manager, reopened, logger, files: () => readdirSync(folder).toSorted() };
}

describe('ContainerLogManager', () => {
  it('rotates a log that has reached the maximum size, and no smaller one', async () => {
    const { path, manager, reopened, files } = setUp();
    writeFileSync(path, '123456789');
    await manager.rotateLogs();
    expect([files(), reopened]).toEqual([['0.log'], []]);
    writeFileSync(path, '1234567890');
    await manager.rotateLogs();
    expect([files(), reopened]).toEqual([['0.log', '0.log.20260102-030405'], ['c1']]);
  });

  it('compresses what was rotated before, and keeps at most `maxFiles` files', async () => {
    const { folder, path, clock, manager, files } = setUp({ maxFiles: 3 });
    for (const text of ['first log!', 'second log', 'third log!']) {
      writeFileSync(path, text);
      await manager.rotateLogs();
      clock.advance(1000);
    }
    expect(files()).toEqual(['0.log', '0.log.20260102-030406.gz', '0.log.20260102-030407']);
    expect(gunzipSync(readFileSync(join(folder, '0.log.20260102-030406.gz'))).toString()).toBe('second log');
  });

  it('removes the leftovers of an interrupted compression', async () => {
    const { folder, path, manager, files } = setUp({ maxFiles: 5 });
    for (const name of ['0.log.20260101-000000', '0.log.20260101-000000.gz', '0.log.20260101-000001.tmp'])
      writeFileSync(join(folder, name), '');
    writeFileSync(path, 'a large log');
    await manager.rotateLogs();
    expect(files()).toEqual(['0.log', '0.log.20260101-000000.gz', '0.log.20260102-030405']);
  });

  it('keeps the log in place while the runtime cannot reopen it', async () => {
    const reopen = (): Promise<void> => Promise.reject(new Error('no runtime'));
    const { path, manager, files, logger } = setUp({ reopen });
    writeFileSync(path, 'a large log');
    await manager.rotateLogs();
    expect(files()).toEqual(['0.log']);
    expect(logger.warnings).toMatchObject([{ fields: { containerID: 'c1', reason: 'no runtime' } }]);
  });

  it('makes the runtime reopen a missing log', async () => {
    const { path, manager, reopened } = setUp();
    await manager.rotateLogs();
    expect(reopened).toEqual(['c1']);
    expect(existsSync(path)).toBe(true);
  });

  it('checks the logs every 10 s until it is stopped', async () => {
    const { path, clock, manager, files } = setUp();
    writeFileSync(path, 'a large log');
    manager.start();
    clock.advance(10_000);
    await expect.poll(files).toHaveLength(2);
    manager.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

it('the log of a container that was listed is known without a call for its status', async () => {
  const clock = new FakeClock();
  const calls: string[] = [];
  const labels = { 'io.kubernetes.pod.uid': 'uid-1' };
  const listed = { id: 'c1', state: 'CONTAINER_RUNNING', labels, pod_sandbox_id: 's1' };
  const status = {
    ...listed,
    ...{
      metadata: { name: 'app', attempt: 0 },
      annotations: {},
      mounts: [],
      log_path: '/0.log',
      stop_signal: 'SIGNAL_RUNTIME_DEFAULT',
    },
  };
  const responses: Readonly<Record<string, object>> = {
    ListPodSandbox: { items: [] },
    ListContainers: { containers: [listed] },
    ContainerStatus: { status },
    ReopenContainerLog: {},
  };
  const call = async (method: string): Promise<object> => {
    calls.push(method);
    return responses[method]!;
  };
  const settings = { containerLogMaxSizeBytes: 10, containerLogMaxFiles: 3, podLogsDirectory: '/logs' };
  const runtime = new CRIRuntime({
    ...({
      ...settings,
      client: { call, close: () => {} },
      clock,
      logger: recordingLogger(),
    } as object as CRIRuntimeSettings),
  });
  await runtime.listPods();
  clock.advance(10_000);
  // There is no such log, so it is opened again.
  const expected = ['ListPodSandbox', 'ListContainers', 'ContainerStatus', 'ListContainers', 'ReopenContainerLog'];
  await expect.poll(() => calls).toEqual(expected);
  runtime.close();
});
