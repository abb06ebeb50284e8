import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { ContainerLogManager } from '../../src/cri/container-log-manager.ts';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { hostPodFiles } from '../../src/cri/runtime-pod-files.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { settle } from '../../src/testing/settle.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function setUp({ maxFiles = 3, maxSizeBytes = 10, logs = 1, reopen = async (): Promise<void> => {} } = {}) {
  const [folder, links] = [directories.create(), directories.create()];
  const path = join(folder, '0.log');
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const logger = recordingLogger();
  const reopened: string[] = [];
  const manager = new ContainerLogManager({
    files: hostPodFiles(systemFiles, { rootDirectory: folder, podLogsDirectory: folder, logger }),
    listLogs: async () =>
      Array.from({ length: logs }, (_, i) => ({
        ...{ containerID: `c${i + 1}`, path: join(folder, `${i}.log`), link: join(links, `c${i + 1}`) },
      })),
    reopenContainerLog: async (id) => {
      reopened.push(id);
      await reopen();
      writeFileSync(path, '', { flag: 'a' });
    },
    maxSizeBytes,
    maxFiles,
    clock,
    logger,
  });
  return { folder, links, path, clock, manager, reopened, logger, files: () => readdirSync(folder).toSorted() };
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

  it('without a maximum size, logs have links, and none is rotated', async () => {
    const { links, path, manager, reopened, files } = setUp({ maxSizeBytes: Number.POSITIVE_INFINITY });
    writeFileSync(path, 'a large log');
    await manager.rotateLogs();
    expect([files(), reopened, readdirSync(links)]).toEqual([['0.log'], [], ['c1']]);
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

  it('a running container without a link to its log gets one: its start was not answered, or the agent killed', async () => {
    const { links, path, manager } = setUp();
    writeFileSync(path, 'small');
    await manager.rotateLogs();
    expect(readlinkSync(join(links, 'c1'))).toBe(path);
    rmSync(join(links, 'c1'));
    await manager.rotateLogs();
    await manager.linkLog({ link: join(links, 'c1'), path });
    // It is made once.
    expect(readdirSync(links)).toEqual([]);
  });

  it('any number of logs are rotated at the same time without a warning of Node.js', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error): void => void warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { folder, manager, reopened } = setUp({ logs: 20 });
    for (let i = 0; i < 20; i++) writeFileSync(join(folder, `${i}.log`), 'a large log');
    await manager.rotateLogs();
    expect([warnings, reopened.length]).toEqual([[], 20]);
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
      files: hostPodFiles(systemFiles, {
        rootDirectory: '/none',
        podLogsDirectory: '/logs',
        logger: recordingLogger(),
      }),
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

/** Logs of containers of one pod, whose runtime responds to `ReopenContainerLog` when it is told to. */
function withSlowRuntime(...names: readonly string[]) {
  const root = directories.create();
  const podLogsDirectory = join(root, 'pods');
  const pathOf = (name: string): string => join(podLogsDirectory, 'ns_web_uid1', name, '0.log');
  const filesOf = (name: string): string[] => readdirSync(dirname(pathOf(name))).toSorted();
  const write = (name: string, text = 'a large log'): void => writeFileSync(pathOf(name), text);
  for (const name of names) {
    mkdirSync(dirname(pathOf(name)), { recursive: true });
    write(name);
  }
  const clock = new FakeClock('2026-01-02T03:04:05Z');
  const logger = recordingLogger();
  const calls: { readonly name: string; readonly signal: AbortSignal; respond(): void }[] = [];
  const manager = new ContainerLogManager({
    files: hostPodFiles(systemFiles, { rootDirectory: root, podLogsDirectory, logger }),
    listLogs: async () => names.map((name) => ({ containerID: name, path: pathOf(name), link: join(root, name) })),
    reopenContainerLog: (name, signal) =>
      new Promise<void>((resolve) => {
        const respond = (): void => {
          write(name, '');
          resolve();
        };
        calls.push({ name, signal, respond });
      }),
    ...{ maxSizeBytes: 10, maxFiles: 3, clock, logger },
  });
  const callsOf = (name: string) => calls.filter((call) => call.name === name);
  const reopening = async (name: string, count = 1) => await expect.poll(() => callsOf(name)).toHaveLength(count);
  return { root, podLogsDirectory, pathOf, filesOf, write, clock, logger, manager, callsOf, reopening };
}
const rotatedName = '0.log.20260102-030415';

it('a runtime that does not reopen the log of one container delays the rotation of no other log, and is asked again', async () => {
  const { manager, clock, pathOf, filesOf, write, callsOf, reopening, logger } = withSlowRuntime('stuck', 'app');
  manager.start();
  clock.advance(10_000);
  await reopening('stuck');
  await reopening('app');
  callsOf('app')[0]!.respond();
  await manager.whenIdle(pathOf('app'));
  write('app');
  clock.advance(9999);
  expect(filesOf('stuck')).toEqual([rotatedName]);
  clock.advance(1);
  await reopening('app', 2);
  await expect.poll(() => filesOf('stuck')).toEqual(['0.log']);
  expect(callsOf('stuck')[0]!.signal.aborted).toBe(true);
  expect(logger.warnings).toMatchObject([
    { fields: { containerID: 'stuck', reason: 'ReopenContainerLog took over 10000 ms' } },
  ]);
  clock.advance(10_000);
  await reopening('stuck', 2);
  manager.stop();
});

it('a log that the runtime has opened, although its response was lost, is never replaced by the earlier one', async () => {
  const { manager, clock, filesOf, pathOf, write, reopening } = withSlowRuntime('app');
  const rotating = manager.rotateLogs();
  await reopening('app');
  write('app', 'new lines');
  clock.advance(10_000);
  await rotating;
  expect(filesOf('app')).toEqual(['0.log', '0.log.20260102-030405']);
  expect(readFileSync(pathOf('app'), 'utf8')).toBe('new lines');
});

it('stop ends a call that has no response, and the log has its name again', async () => {
  const { manager, filesOf, callsOf, reopening, clock, logger } = withSlowRuntime('app');
  const rotating = manager.rotateLogs();
  await reopening('app');
  manager.stop();
  await rotating;
  expect(callsOf('app')[0]!.signal.aborted).toBe(true);
  expect([filesOf('app'), clock.pendingTimers, logger.lines]).toEqual([['0.log'], 0, []]);
});

describe('while a log is being rotated', () => {
  it('it is not rotated a second time', async () => {
    const { manager, callsOf, reopening } = withSlowRuntime('app');
    const rotating = manager.rotateLogs();
    await reopening('app');
    await manager.rotateLogs();
    callsOf('app')[0]!.respond();
    await rotating;
    expect(callsOf('app')).toHaveLength(1);
  });

  it('its removal waits, and then leaves none of its files', async () => {
    const { manager, pathOf, filesOf, callsOf, reopening } = withSlowRuntime('app');
    void manager.rotateLogs();
    await reopening('app');
    const removed = manager.removeLogs(pathOf('app'));
    await settle();
    callsOf('app')[0]!.respond();
    await removed;
    expect(filesOf('app')).toEqual([]);
  });

  it('its link waits, and so is made', async () => {
    const { manager, root, pathOf, callsOf, reopening } = withSlowRuntime('app');
    void manager.rotateLogs();
    await reopening('app');
    const linked = manager.linkLog({ link: join(root, 'link'), path: pathOf('app') });
    await settle();
    callsOf('app')[0]!.respond();
    await linked;
    expect(existsSync(join(root, 'link'))).toBe(true);
  });

  it('its reader waits until it is there again, and readers of other logs do not', async () => {
    const { manager, pathOf, callsOf, reopening } = withSlowRuntime('app', 'other');
    void manager.rotateLogs();
    await reopening('app');
    await reopening('other');
    callsOf('other')[0]!.respond();
    await manager.whenIdle(pathOf('other'));
    const found = manager.whenIdle(pathOf('app')).then(() => existsSync(pathOf('app')));
    await settle();
    callsOf('app')[0]!.respond();
    expect(await found).toBe(true);
  });

  it('the folder of its pod is not removed', async () => {
    const { manager, podLogsDirectory, callsOf, reopening } = withSlowRuntime('app');
    const rotating = manager.rotateLogs();
    await reopening('app');
    const evict = () =>
      manager.evictPodLogsDirectories(
        async () => new Set(),
        () => true,
      );
    await evict();
    expect(readdirSync(podLogsDirectory)).toEqual(['ns_web_uid1']);
    callsOf('app')[0]!.respond();
    await rotating;
    await evict();
    expect(readdirSync(podLogsDirectory)).toEqual([]);
  });
});
