import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerRuntime, RuntimeContainerStatus, RuntimePod } from 'kubelet-status-manager/agent';
import { checkContainerRuntime, FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';
import { runtimeRules, type RuntimeRule } from '../../src/testing/check-container-runtime/runtime-rules.ts';

type Options = Parameters<typeof checkContainerRuntime>[1];
type Change = (runtime: FakeContainerRuntime) => Partial<ContainerRuntime>;

const container = (name: string) => ({ name, image: `${name}:1` });
const options: Options = {
  running: { ...container('running'), resources: { limits: { cpu: '100m', memory: '64Mi' } } },
  completed: container('completed'),
  failed: { container: container('failed'), exitCode: 3, message: 'oops' },
  stubborn: container('stubborn'),
  unstartable: container('unstartable'),
  exec: {
    command: ['command'],
    result: { exitCode: 3, stdout: 'out', stderr: 'err' },
    endless: ['endless'],
    modeOfEmptyDir: ['mode'],
  },
};

function newRuntime(clock: FakeClock, more = {}): FakeContainerRuntime {
  const runtime = new FakeContainerRuntime({ clock, ...more });
  runtime.script('completed', { exitAfterMs: 10 });
  runtime.script('failed', { exitAfterMs: 10, exitCode: 3, message: 'oops' });
  runtime.script('stubborn', { stopMs: Number.POSITIVE_INFINITY });
  runtime.fail({ method: 'startContainer', container: 'unstartable' }, 'no such command');
  runtime.onExec(([command]) => {
    if (command === 'endless') return new Promise(() => {});
    return command === 'mode'
      ? { exitCode: 0, stdout: '777\n', stderr: '' }
      : { exitCode: 3, stdout: 'out', stderr: 'err' };
  });
  return runtime;
}

/** A runtime in which some methods are replaced. */
function changed(fake: FakeContainerRuntime, change: Change): ContainerRuntime {
  const methods = change(fake);
  return new Proxy(fake, {
    get(target, name) {
      const value: unknown = name in methods ? methods[name as keyof ContainerRuntime] : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** The results of a fake runtime of which some methods are replaced, from the start and after the restart. */
async function check(change: Change, more = {}, moreOptions: Partial<Options> = {}, afterRestart: Change = change) {
  const clock = new FakeClock();
  const fake = newRuntime(clock, more);
  const restart = async (): Promise<ContainerRuntime> => changed(fake, afterRestart);
  let isDone = false;
  const done = checkContainerRuntime(changed(fake, change), { ...options, clock, restart, ...moreOptions }).finally(
    () => (isDone = true),
  );
  while (!isDone) await clock.advanceAsync(50);
  return done;
}

async function brokenRules(change: Change, afterRestart?: Change): Promise<string[]> {
  const results = await check(change, {}, {}, afterRestart);
  return results.filter(({ passed }) => !passed).map(({ rule }) => rule);
}

describe('checkContainerRuntime', () => {
  it.each([{}, { sandboxes: false }, { images: false, events: false, resizes: false }])(
    'the fake runtime %j keeps every rule',
    async (more) => {
      const results = await check(() => ({}), more);
      expect(results.filter(({ passed }) => !passed)).toEqual([]);
    },
  );

  it('waits until the stubborn container has had a second to ignore SIGTERM', async () => {
    const clock = new FakeClock();
    const startedMs = new Map<string, number>();
    const ranMs: number[] = [];
    const runtime = changed(newRuntime(clock), (fake) => ({
      startContainer: async (id) => {
        startedMs.set(id, clock.monotonicMs());
        await fake.startContainer(id);
      },
      stopContainer: async (id, seconds, stopOptions) => {
        if (seconds === 3600) ranMs.push(clock.monotonicMs() - startedMs.get(id)!);
        await fake.stopContainer(id, seconds, stopOptions);
      },
    }));
    let isDone = false;
    const done = checkContainerRuntime(runtime, { ...options, clock }).finally(() => (isDone = true));
    while (!isDone) await clock.advanceAsync(50);
    expect((await done).filter(({ passed }) => !passed)).toEqual([]);
    expect(ranMs).toEqual([1_000]);
  });

  /** A runtime whose statuses of containers are changed. */
  const withStatus =
    (changeOf: (status: RuntimeContainerStatus) => Partial<RuntimeContainerStatus>) =>
    (runtime: FakeContainerRuntime): Partial<ContainerRuntime> => {
      const change = (pod: RuntimePod): RuntimePod => ({
        ...pod,
        containers: pod.containers.map((status) => ({ ...status, ...changeOf(status) })),
      });
      return {
        getPod: async (uid) => {
          const pod = await runtime.getPod(uid);
          return pod && change(pod);
        },
        listPods: async () => (await runtime.listPods()).map(change),
      };
    };
  const whenExited = (fields: Partial<RuntimeContainerStatus>) =>
    withStatus(({ state }) => (state === 'exited' ? fields : {}));
  const whenRunning = (fields: Partial<RuntimeContainerStatus>) =>
    withStatus(({ state }) => (state === 'running' ? fields : {}));
  const hang = (): Promise<never> => new Promise(() => {});

  const broken: [RuntimeRule, Change][] = [
    ['runtime-ready', () => ({ status: async () => ({ conditions: [{ type: 'RuntimeReady', status: true }] }) })],
    [
      'unknown-pod',
      (r) => ({ getPod: async (uid) => (await r.getPod(uid)) ?? { uid, name: '', namespace: '', containers: [] } }),
    ],
    [
      'unknown-container',
      (r) => ({
        stopContainer: async (id, grace) =>
          r.callsOf({ method: 'removeContainer' }).some((call) => call.containerID === id)
            ? hang()
            : r.stopContainer(id, grace),
      }),
    ],
    [
      'repeatable',
      (r) => ({
        stopPodSandbox: async (id) =>
          r.callsOf({ method: 'stopPodSandbox' }).some((call) => call.sandboxID === id)
            ? Promise.reject(new Error('not ready'))
            : r.stopPodSandbox!(id),
      }),
    ],
    [
      'error-messages',
      (r) => ({
        execSync: async (...args) => r.execSync(...args).catch(() => Promise.reject(new Error('5 NOT_FOUND: it'))),
      }),
    ],
    ['listed-once', () => ({ listPods: async () => [] })],
    ['container-id', (r) => ({ createContainer: async (config) => (await r.createContainer(config)).slice(7) })],
    ['container-name', withStatus(() => ({ name: 'k8s_app' }))],
    ['created-visible', withStatus(({ id }) => ({ id: `${id}0` }))],
    ['created-state', withStatus(({ state }) => (state === 'created' ? { startedAtMs: 0 } : {}))],
    ['created-at', withStatus(({ createdAtMs }) => ({ createdAtMs: createdAtMs / 1000 }))],
    ['attempt', withStatus(() => ({ attempt: 0 }))],
    ['hash', withStatus(() => ({ hash: undefined }))],
    ['sandbox-id', withStatus(() => ({ sandboxID: undefined }))],
    ['image', withStatus(() => ({ image: undefined }))],
    ['image-id', withStatus(() => ({ imageID: '' }))],
    ['image-ref', () => ({ imageRef: async () => 'sha256:any' })],
    [
      'running-state',
      (r) => ({ startContainer: async (id) => void r.callsOf({}).push({ method: 'startContainer', containerID: id }) }),
    ],
    ['started-at', whenRunning({ startedAtMs: undefined })],
    ['resources-format', whenRunning({ resources: { limits: { cpu: '0.1', memory: '64Mi' } } })],
    ['resize-shown', whenRunning({ resources: { limits: { cpu: '100m', memory: '64Mi' } } })],
    [
      'empty-dir-mode',
      (r) => ({
        execSync: async (id, command, ...more) => ({
          ...(await r.execSync(id, command, ...more)),
          ...(command[0] === 'mode' && { stdout: '755' }),
        }),
      }),
    ],
    [
      'exec-result',
      (r) => ({
        execSync: async (id, command, ...more) => ({ ...(await r.execSync(id, command, ...more)), exitCode: 0 }),
      }),
    ],
    ['exec-time-out', (r) => ({ execSync: (id, command, _ms, call) => r.execSync(id, command, 2 ** 31, call) })],
    ['exec-stopped', () => ({ execSync: async () => ({ exitCode: 3, stdout: 'out', stderr: 'err' }) })],
    ['abort-signals', (r) => ({ stopContainer: (id, grace) => r.stopContainer(id, grace) })],
    ['stop-asks-first', (r) => ({ stopContainer: (id) => r.stopContainer(id, 0) })],
    ['stop-kills', (r) => ({ stopContainer: (id) => r.stopContainer(id, 0) })],
    [
      'stop-shortened',
      (r) => ({ stopContainer: (id, grace, call) => (grace === 1 ? hang() : r.stopContainer(id, grace, call)) }),
    ],
    ['exit-observed', whenExited({ state: 'running' })],
    ['exit-code', whenExited({ exitCode: undefined })],
    ['exit-reason', whenExited({ reason: 'Error' })],
    ['exit-times', whenExited({ finishedAtMs: 0 })],
    ['termination-message', whenExited({ message: undefined })],
    ['start-failure', (r) => ({ startContainer: (id) => r.startContainer(id).catch(() => {}) })],
    [
      'start-failure-times',
      (r) => ({
        startContainer: (id) =>
          r.startContainer(id).catch((error: unknown) => {
            r.setContainer(id, { state: 'exited', exitCode: 128, reason: 'StartError' });
            throw error;
          }),
      }),
    ],
    [
      'runs-kept',
      (r) => ({
        createContainer: async (config) => {
          for (const { id, state } of r.pod(config.pod.metadata.uid)?.containers ?? [])
            if (state === 'exited') await r.removeContainer(id);
          return r.createContainer(config);
        },
      }),
    ],
    ['runs-removed', () => ({ removeContainer: async () => {} })],
    [
      'sandbox-status',
      (r) => ({
        runPodSandbox: async (config) => {
          const id = await r.runPodSandbox!(config);
          r.setSandbox(id, { ready: false });
          return id;
        },
      }),
    ],
    [
      'pod-address',
      (r) => ({
        runPodSandbox: async (config) => {
          const id = await r.runPodSandbox!(config);
          r.setSandbox(id, { network: { ip: '' } });
          return id;
        },
      }),
    ],
    ['sandbox-stop', () => ({ stopPodSandbox: async () => {} })],
    ['sandbox-remove', () => ({ removePodSandbox: async () => {} })],
    ['exit-event', () => ({ subscribe: () => () => {} })],
    [
      'unsubscribe',
      (r) => ({
        subscribe: (listener) => {
          r.subscribe!(listener);
          return () => {};
        },
      }),
    ],
    ['calls-succeed', () => ({ pullImage: () => Promise.reject(new Error('no registry')) })],
  ];

  it.each(broken)('a runtime that breaks the rule %s is told so', async (rule, change) => {
    expect(await brokenRules(change)).toContain(rule);
  });

  const timedOutWith =
    (exitCode: number): Change =>
    (r) => ({
      execSync: (...args) =>
        r.execSync(...args).catch((error: Error) => {
          if (!error.message.includes('timed out')) throw error;
          return { exitCode, stdout: '', stderr: 'command timed out' };
        }),
    });
  it.each<[string, RuntimeRule, boolean, Change]>([
    ['its time-out as an exit code', 'exec-time-out', true, timedOutWith(-1)],
    ['success after its time-out', 'exec-time-out', false, timedOutWith(0)],
    [
      'an error of createContainer for a command that it cannot find',
      'start-failure',
      true,
      (r) => ({
        createContainer: (config) =>
          config.container.name === 'unstartable'
            ? Promise.reject(new Error('executable file not found in $PATH'))
            : r.createContainer(config),
      }),
    ],
  ])('a runtime may report %s: %s is kept: %s', async (_, rule, isKept, change) => {
    expect((await check(change)).find((result) => result.rule === rule)?.passed).toBe(isKept);
  });

  it('a runtime that forgets its hashes when it is restarted is told so', async () => {
    expect(
      await brokenRules(
        () => ({}),
        withStatus(() => ({ hash: undefined })),
      ),
    ).toContain('survives-restart');
  });

  it.each([
    ['a missing log', undefined, true],
    ['a log in another format', 'text\n', true],
    ['a log of the CRI', '2026-01-02T03:04:05.000000006Z stdout F text\n', false],
  ])('%s is found by its path', async (_, text, isBroken) => {
    const podLogsDirectory = mkdtempSync(join(tmpdir(), 'logs-'));
    onTestFinished(() => rmSync(podLogsDirectory, { recursive: true }));
    const writeLog = (runtime: FakeContainerRuntime): Partial<ContainerRuntime> => ({
      createContainer: async (config) => {
        const { namespace, name, uid } = config.pod.metadata;
        // Synchronous: the fake clock would run ahead of the disk.
        const folder = join(podLogsDirectory, `${namespace}_${name}_${uid}`, config.container.name);
        mkdirSync(folder, { recursive: true });
        if (text !== undefined) writeFileSync(join(folder, `${config.attempt}.log`), text);
        return runtime.createContainer(config);
      },
    });
    const results = await check(writeLog, {}, { podLogsDirectory });
    expect(results.find(({ rule }) => rule === 'log-path')?.passed).toBe(!isBroken);
  });

  it('an end that the runtime dates a millisecond before the start keeps the rules', async () => {
    const early = withStatus(({ state, startedAtMs = 0 }) =>
      state === 'exited' && startedAtMs > 0 ? { finishedAtMs: startedAtMs - 1 } : {},
    );
    expect(await brokenRules(early)).toEqual([]);
  });

  it('each rule is broken by a test, and each result has the reason', async () => {
    const rules = [...broken.map(([rule]) => rule), 'survives-restart', 'log-path'];
    expect(rules.toSorted()).toEqual(Object.keys(runtimeRules).toSorted());
    for (const { rule, message } of await check(() => ({ listPods: async () => [] })))
      expect(message).toContain(runtimeRules[rule as RuntimeRule]);
  });
});
