import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { ContainerRuntime, RuntimePod } from 'kubelet-status-manager/agent';
import { FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';
import { boundedRuntime, runtimeCalls } from '../../src/node/runtime/bounded-runtime.ts';

const { signal: never } = new AbortController();
let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
});

/** The fake runtime with one method of a careless author. */
function runtimeWith(method: keyof ContainerRuntime, replacement: () => unknown): ContainerRuntime {
  const runtime = Object.assign(new FakeContainerRuntime({ clock }), { [method]: replacement });
  return boundedRuntime(runtime, { clock, requestTimeoutMs: 1000, signal: never });
}

const podOf = (uid: string): RuntimePod => ({ uid, name: 'web', namespace: 'default', containers: [] });

describe('boundedRuntime', () => {
  it.each<[string, () => unknown]>([
    [
      'throws instead of rejecting',
      () => {
        throw new Error('no socket');
      },
    ],
    ['returns undefined', () => undefined],
    ['rejects', () => Promise.reject(new Error('no socket'))],
  ])('leaves no timer and no listener behind when the runtime %s', async (_, replacement) => {
    const { signal } = new AbortController();
    const listeners = new Set<unknown>();
    signal.addEventListener = (_: string, listener: unknown) => void listeners.add(listener);
    signal.removeEventListener = (_: string, listener: unknown) => void listeners.delete(listener);
    await expect(runtimeWith('listPods', replacement).listPods({ signal })).rejects.toThrow(/no socket|listPods/);
    expect(clock.pendingTimers).toBe(0);
    expect(listeners.size).toBe(0);
  });

  it.each<[keyof ContainerRuntime, unknown, string]>([
    ['listPods', 42, 'Expected `listPods()` of the runtime to be a list, got number'],
    [
      'listPods',
      [{ ...podOf('a'), containers: undefined }],
      'Expected `listPods()[0].containers` of the runtime to be',
    ],
    ['listPods', [podOf('a'), null], 'Expected `listPods()[1].uid` of the runtime to be a string, got undefined'],
    ['listPods', [podOf('a'), podOf('b'), podOf('a')], 'The runtime listed pod UID a twice'],
    ['getPod', 42, 'Expected `getPod().uid` of the runtime to be a string, got undefined'],
    ['createContainer', undefined, 'Expected `createContainer()` of the runtime to be a string, got undefined'],
    ['runPodSandbox', null, 'Expected `runPodSandbox()` of the runtime to be a string, got null'],
    ['pullImage', {}, 'Expected `pullImage()` of the runtime to be a string or { imageRef, sizeBytes }, got object'],
    ['imageRef', 42, 'Expected `imageRef()` of the runtime to be a string, got number'],
    ['podSandboxStatus', {}, 'Expected `podSandboxStatus()` of the runtime to be { id, ready }, got object'],
    ['podResources', 42, 'Expected `podResources()` of the runtime to be { requests, limits }, got number'],
    [
      'podResources',
      { limits: { cpu: 'a' } },
      'Expected `podResources().limits.cpu` of the runtime to be a quantity, got',
    ],
    ['execSync', 0, 'Expected `execSync()` of the runtime to be { exitCode, stdout, stderr }, got number'],
  ])(
    '%s that resolves with %j: the error names the method, not a line of the agent',
    async (method, value, message) => {
      const runtime = runtimeWith(method, async () => value) as unknown as Record<
        string,
        (...args: unknown[]) => unknown
      >;
      await expect(runtime[method]!('id', ['true'], 0)).rejects.toThrow(message);
    },
  );

  it('what is optional may be absent', async () => {
    expect(await runtimeWith('getPod', async () => undefined).getPod('a')).toBeUndefined();
    expect(await runtimeWith('imageRef', async () => undefined).imageRef!('app:1')).toBeUndefined();
  });

  it('has the methods that the runtime has', () => {
    const fake = new FakeContainerRuntime({ clock, sandboxes: false, images: false, resizes: false, events: false });
    const names = Object.keys(runtimeCalls) as (keyof ContainerRuntime)[];
    const bounded = boundedRuntime(fake, { clock, requestTimeoutMs: 1000, signal: never });
    expect(names.filter((name) => bounded[name] !== undefined)).toEqual(
      names.filter((name) => (fake as ContainerRuntime)[name] !== undefined),
    );
  });

  it('calls each method with its arguments and options, on the runtime', async () => {
    for (const [name, bounds] of Object.entries(runtimeCalls)) {
      if (bounds === 'unbounded') continue;
      const runtime = {
        seen: [] as unknown[],
        [name](...args: unknown[]) {
          this.seen = args;
          return Promise.reject(new Error('seen'));
        },
      };
      const bounded = boundedRuntime(runtime as never, {
        clock,
        requestTimeoutMs: 1000,
        signal: never,
      }) as unknown as typeof runtime;
      const args = Array.from({ length: bounds.parameters - 1 }, (_, i) => i);
      await expect((bounded[name] as (...args: unknown[]) => unknown)(...args, { pod: 'p' })).rejects.toThrow('seen');
      expect(runtime.seen).toEqual([...args, { pod: 'p', signal: expect.any(AbortSignal) as unknown }]);
    }
  });

  it('its own signal ends calls that have none', async () => {
    const stop = new AbortController();
    const fake = Object.assign(new FakeContainerRuntime({ clock }), { removeContainer: () => new Promise(() => {}) });
    const runtime = boundedRuntime(fake, { clock, requestTimeoutMs: 1000, signal: stop.signal });
    const removed = runtime.removeContainer('id');
    stop.abort(new Error('stopping'));
    await expect(removed).rejects.toThrow('stopping');
    await expect(runtime.listPods()).rejects.toThrow('stopping');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('the time-outs', () => {
  it('runPodSandbox has twice as long as other calls', async () => {
    const never = () => new Promise(() => {});
    const sandbox = runtimeWith('runPodSandbox', never).runPodSandbox!({
      pod: { metadata: { uid: 'uid', name: 'web', namespace: 'ns' } },
      attempt: 0,
    });
    const message = sandbox.catch((error: Error) => error.message);
    await clock.advanceAsync(1999);
    expect(clock.pendingTimers).toBe(1);
    await clock.advanceAsync(1);
    expect(await message).toBe('runPodSandbox of the runtime took over 2000 ms');
  });

  it('execSync with 2^31 - 1 ms has none', async () => {
    const exec = runtimeWith('execSync', () => new Promise(() => {}));
    void exec.execSync('fake://1', ['sleep'], 2 ** 31 - 1);
    expect(clock.pendingTimers).toBe(0);
  });
});

it.each(['removeContainer', 'removePodSandbox'] as const)(
  '%s is called once while a removal of the same ID is in progress',
  async (method) => {
    const ends: ((error?: Error) => void)[] = [];
    const runtime = runtimeWith(
      method,
      () => new Promise<void>((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve()))),
    );
    const both = Promise.allSettled([runtime[method]!('1'), runtime[method]!('1')]);
    expect(ends).toHaveLength(1);
    ends[0]!(new Error('busy'));
    expect((await both).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    void runtime[method]!('1');
    expect(ends).toHaveLength(2);
    ends[1]!();
  },
);

it('a removal that several wait for does not end with the signal of who was first', async () => {
  const seen: AbortSignal[] = [];
  let end = (): void => {};
  const runtime = boundedRuntime(
    Object.assign(new FakeContainerRuntime({ clock }), {
      removeContainer: (_: string, { signal }: { signal: AbortSignal }) => {
        seen.push(signal);
        return new Promise<void>((resolve) => (end = resolve));
      },
    }),
    { clock, requestTimeoutMs: 1000, signal: never },
  );
  const first = new AbortController();
  const removals = [runtime.removeContainer('1', { signal: first.signal }), runtime.removeContainer('1')];
  first.abort(new Error('the pod is created again'));
  await expect(removals[0]).rejects.toThrow('created again');
  expect(seen.map(({ aborted }) => aborted)).toEqual([false]);
  end();
  expect(await removals[1]).toBeUndefined();
  expect(clock.pendingTimers).toBe(0);
});

it('any number of calls may share the signal that a call was given', async () => {
  const warnings: string[] = [];
  const onWarning = ({ message }: Error) => void warnings.push(message);
  process.on('warning', onWarning);
  onTestFinished(() => void process.off('warning', onWarning));
  const fake = new FakeContainerRuntime({ clock });
  const runtime = boundedRuntime(
    Object.assign(fake, {
      listPods: async ({ signal }: { signal: AbortSignal }) => {
        const listeners = Array.from({ length: 20 }, () => () => {});
        for (const listener of listeners) signal.addEventListener('abort', listener);
        return [];
      },
    }),
    { clock, requestTimeoutMs: 1000, signal: never },
  );
  await runtime.listPods();
  await clock.yieldToEventLoop();
  expect(warnings).toEqual([]);
});
