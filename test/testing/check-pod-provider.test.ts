import { describe, expect, it } from 'vitest';
import type { Clock, ValidPod } from 'kubelet-status-manager';
import { checkPodProvider, FakeClock } from 'kubelet-status-manager/testing';
import {
  type PodProvider,
  ProviderError,
  type ProviderPod,
  type ProviderPodOptions,
} from 'kubelet-status-manager/virtual-nodes';
import { type ProviderRule, providerRules } from '../../src/testing/check-pod-provider/provider-rules.ts';

type Options = Parameters<typeof checkPodProvider>[1];

const container = (name: string) => ({ name, image: `${name}:1` });
const options: Options = {
  running: container('running'),
  completed: container('completed'),
  failed: { container: container('failed'), exitCode: 3 },
  refused: container('refused'),
  stubborn: container('stubborn'),
  log: 'one\ntwo\n',
  exec: { command: ['command'], exitCode: 3, stdout: 'out' },
};

/** A cloud in memory that keeps every rule. */
class TestCloud implements PodProvider {
  readonly capabilities: PodProvider['capabilities'] = { restarts: 'node' };
  readonly pods = new Map<string, ProviderPod>();
  readonly environments = new Map<string, string>();
  readonly listeners = new Set<(pod: ProviderPod) => void>();
  readonly clock: Pick<Clock, 'afterFunc' | 'now'>;

  constructor(clock: Pick<Clock, 'afterFunc' | 'now'>) {
    this.clock = clock;
  }

  set(pod: ProviderPod): void {
    this.pods.set(pod.uid, pod);
    for (const listener of this.listeners) listener(pod);
  }

  async createPod(pod: ValidPod, options: ProviderPodOptions): Promise<void> {
    const { uid, name, namespace } = pod.metadata;
    const { nodeName, containers: [{ name: containerName } = { name: '' }] = [] } = pod.spec!;
    const { podHash, restartCount, materials } = options;
    if (containerName === 'refused') throw new ProviderError('no such image', { permanent: true, reason: 'NoImage' });
    if ((this.pods.get(uid)?.restartCount ?? -1) >= restartCount) return;
    const { containers } = await materials();
    this.environments.set(uid, JSON.stringify(containers.get(containerName)?.env));
    const run = { state: 'creating', podHash, restartCount } as const;
    this.set({ uid, name, namespace, nodeName: nodeName!, ...run });
    this.clock.afterFunc(100, () => {
      const startedAt = new Date(this.clock.now());
      const running = { state: 'running', ips: ['10.0.0.1'], startedAt } as const;
      const before = this.pods.get(uid);
      if (before !== undefined) this.set({ ...before, ...running, containers: [{ name: containerName, startedAt }] });
    });
    const exitCode = { completed: 0, failed: 3 }[containerName];
    if (exitCode === undefined) return;
    this.clock.afterFunc(200, () => {
      const exit = { exitCode, finishedAt: new Date(this.clock.now()) };
      const before = this.pods.get(uid);
      if (before !== undefined) this.set({ ...before, state: 'stopped', containers: [{ name: containerName, exit }] });
    });
  }

  async updatePod({ metadata: { uid } }: ValidPod, _: ValidPod | undefined, { podHash }: ProviderPodOptions) {
    this.set({ ...this.pods.get(uid)!, podHash });
  }

  async deletePod({ uid }: { readonly uid: string }, { gracePeriodSeconds }: { readonly gracePeriodSeconds: number }) {
    const isStubborn = this.pods.get(uid)?.containers?.[0]?.name === 'stubborn';
    this.clock.afterFunc(isStubborn ? gracePeriodSeconds * 1000 : 50, () => this.pods.delete(uid));
  }

  async killContainer(...[{ uid }, name, { restartCount }]: Parameters<NonNullable<PodProvider['killContainer']>>) {
    this.clock.afterFunc(50, () => {
      const before = this.pods.get(uid);
      if (before?.state !== 'running' || before.restartCount !== restartCount) return;
      const exit = { exitCode: 137, finishedAt: new Date(this.clock.now()) };
      this.set({ ...before, state: 'stopped', containers: [{ name, exit }] });
    });
  }

  async getPod({ uid }: { readonly uid: string }): Promise<ProviderPod | undefined> {
    return this.pods.get(uid);
  }

  async listPods(): Promise<ProviderPod[]> {
    return [...this.pods.values()];
  }

  notifyPods(listener: (pod: ProviderPod) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  async logs(...[{ uid }, , { tailLines, follow }, { signal }]: Parameters<NonNullable<PodProvider['logs']>>) {
    const pod = this.pods.get(uid);
    if (pod === undefined) throw new ProviderError('no such pod');
    return (async function* read() {
      yield Buffer.from(tailLines === 1 ? 'two\n' : 'one\ntwo\n');
      if (follow && pod.state === 'running')
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    })();
  }

  async exec(...[{ uid }, , , { stdout }]: Parameters<NonNullable<PodProvider['exec']>>): Promise<number> {
    if (!this.pods.has(uid)) throw new ProviderError('no such pod');
    stdout?.write('out');
    return 3;
  }

  async stats() {
    return [...this.pods.values()].map(({ uid, name, namespace, containers = [] }) => ({
      podRef: { uid, name, namespace },
      startTime: '2026-01-01T00:00:00Z',
      containers: containers.map((each) => ({ name: each.name, startTime: '2026-01-01T00:00:00Z' })),
    }));
  }
}

type Methods = { readonly [Name in keyof PodProvider]?: PodProvider[Name] | undefined };
type Mistake = (cloud: TestCloud) => Methods;
const none: Mistake = () => ({});

async function check(mistake: Mistake, moreOptions: Partial<Options> = {}, afterRestart = mistake) {
  const clock = new FakeClock();
  const cloud = new TestCloud(clock);
  const provider = (mistakes: Methods): PodProvider =>
    new Proxy(cloud, {
      get(target, name) {
        const value: unknown = name in mistakes ? mistakes[name as keyof PodProvider] : Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  let isDone = false;
  const restart = async (): Promise<PodProvider> => provider(afterRestart(cloud));
  const done = checkPodProvider(provider(mistake(cloud)), {
    ...options,
    timeoutMs: 2000,
    clock,
    restart,
    ...moreOptions,
  }).finally(() => (isDone = true));
  while (!isDone) await clock.advanceAsync(50);
  return { cloud, results: await done };
}

async function brokenRules(mistake: Mistake, afterRestart?: Mistake): Promise<string[]> {
  const { results } = await check(mistake, {}, afterRestart);
  return results.filter(({ passed }) => !passed).map(({ rule }) => rule);
}

/** A cloud that shows its pods in another way. */
const shows =
  (change: (pod: ProviderPod) => Partial<ProviderPod>): Mistake =>
  (cloud) => ({ listPods: async () => [...cloud.pods.values()].map((pod) => ({ ...pod, ...change(pod) })) });
const hang = (): Promise<never> => new Promise(() => {});

describe('checkPodProvider', () => {
  it('a provider that keeps every rule is told so, and nothing of it is left', async () => {
    const { results, cloud } = await check(none);
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    expect(results.map(({ rule }) => rule)).toEqual(Object.keys(providerRules));
    expect(cloud.pods.size).toBe(0);
    expect(cloud.listeners.size).toBe(0);
  });

  it('with the three methods that a provider must have, the other rules are not in the list', async () => {
    const missing = { updatePod: undefined, getPod: undefined, notifyPods: undefined, killContainer: undefined };
    const { results } = await check(() => ({ ...missing, logs: undefined, exec: undefined, stats: undefined }));
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
    const rules = results.map(({ rule }) => rule);
    for (const rule of ['update-repeatable', 'get-pod', 'kill-ends', 'notified', 'log-ends', 'exec-result', 'stats'])
      expect(rules).not.toContain(rule);
  });

  it('without a clock, the system clock is used', async () => {
    const cloud = new TestCloud({ afterFunc: later, now: Date.now });
    const results = await checkPodProvider(cloud, { running: container('running'), timeoutMs: 5000 });
    expect(results.filter(({ passed }) => !passed)).toEqual([]);
  });

  const mistakes: [ProviderRule, string, Mistake][] = [
    ['calls-succeed', 'the first list rejects', (c) => ({ listPods: once(new Error('down'), () => c.listPods()) })],
    ['errors', 'it throws an object', () => ({ exec: () => Promise.reject({ code: 404 }) })],
    [
      'secrets',
      'the environment is in the message of a pod',
      (c) => shows(({ uid }) => ({ message: c.environments.get(uid) }))(c),
    ],
    ['valid-pods', 'a state of the cloud is shown', shows(() => ({ state: 'pending' as never }))],
    ['valid-pods', 'a container has no name', shows(() => ({ containers: [{ name: '' }] }))],
    [
      'listed',
      'only running pods that were asked for by this process are listed',
      () => ({ listPods: async () => [] }),
    ],
    [
      'listed-once',
      'a list by pages repeats an entry',
      (c) => ({ listPods: async () => [...c.pods.values(), ...c.pods.values()] }),
    ],
    ['reference', 'the name of the instance is the name of the pod', shows(({ uid }) => ({ name: `i-${uid}` }))],
    ['container-names', 'containers have the names of images', shows(() => ({ containers: [{ name: 'running:1' }] }))],
    [
      'running-observed',
      'a running pod stays creating',
      shows(({ state }) => (state === 'running' ? { state: 'creating' } : {})),
    ],
    ['started-at', 'seconds are taken for milliseconds', shows((pod) => ({ startedAt: seconds(pod.startedAt) }))],
    ['pod-address', 'an address has its prefix', shows(({ ips }) => ({ ips: ips?.map((ip) => `${ip}/24`) }))],
    [
      'pod-hash',
      'the first hash stays',
      (c) => ({ updatePod: async ({ metadata: { uid } }) => c.set(c.pods.get(uid)!) }),
    ],
    [
      'create-repeatable',
      'a second createPod conflicts',
      (c) => ({
        createPod: async (pod, call) =>
          c.pods.has(pod.metadata.uid) ? Promise.reject(new Error('409 Conflict')) : c.createPod(pod, call),
      }),
    ],
    [
      'create-repeatable',
      'a second createPod creates again',
      (c) => ({
        createPod: async (pod, call) => {
          c.pods.delete(pod.metadata.uid);
          await c.createPod(pod, call);
        },
      }),
    ],
    [
      'abort-signals',
      'a list does not heed its signal',
      (c) => {
        let lists = 0;
        return { listPods: () => (++lists === 1 ? hang() : c.listPods()) };
      },
    ],
    ['get-pod', 'an unknown pod is an error', () => ({ getPod: () => Promise.reject(new Error('404')) })],
    [
      'get-pod',
      'another state is shown',
      (c) => ({ getPod: async ({ uid }) => withState(c.pods.get(uid), 'creating') }),
    ],
    [
      'update-repeatable',
      '`previous` is taken for granted',
      (c) => ({
        updatePod: async (pod, previous, call) => {
          if (previous!.metadata.uid === pod.metadata.uid) await c.updatePod(pod, previous, call);
        },
      }),
    ],
    [
      'delete-unknown',
      'deleting what is unknown is an error',
      (c) => ({
        deletePod: async (pod, call) =>
          c.pods.has(pod.uid) ? c.deletePod(pod, call) : Promise.reject(new Error('404')),
      }),
    ],
    [
      'delete-repeatable',
      'deleting what is being deleted is an error',
      (c) => {
        const deleted = new Set<string>();
        return {
          deletePod: async (pod, call) => {
            if (deleted.has(pod.uid)) throw new Error('409');
            deleted.add(pod.uid);
            await c.deletePod(pod, call);
          },
        };
      },
    ],
    ['delete-ends', 'deletePod is only a request to somebody', () => ({ deletePod: async () => {} })],
    [
      'delete-shortened',
      'the first grace period counts',
      (c) => {
        const deleted = new Set<string>();
        return {
          deletePod: async (pod, call) => {
            if (!deleted.has(pod.uid)) await c.deletePod(pod, call);
            deleted.add(pod.uid);
          },
        };
      },
    ],
    [
      'delete-others',
      'everything on the node is deleted',
      (c) => ({ deletePod: async (pod) => void (c.pods.has(pod.uid) && c.pods.clear()) }),
    ],
    [
      'exit-observed',
      'a pod that has ended stays running',
      shows(({ state }) => (state === 'stopped' ? { state: 'running' } : {})),
    ],
    [
      'exit-code',
      'each end is a success',
      shows(({ state, containers = [] }) =>
        state === 'stopped' ? { containers: containers.map(({ name }) => ({ name, exit: { exitCode: 0 } })) } : {},
      ),
    ],
    [
      'exit-times',
      'finishedAt is in seconds',
      shows(({ state, containers = [] }) =>
        state === 'stopped'
          ? {
              containers: containers.map(({ name, exit }) => {
                return { name, exit: { ...exit!, finishedAt: seconds(exit!.finishedAt)! } };
              }),
            }
          : {},
      ),
    ],
    [
      'exit-kept',
      'a pod that has ended is removed',
      (c) => ({
        listPods: async () => {
          const pods = await c.listPods();
          for (const { uid, state } of pods) if (state === 'stopped') c.pods.delete(uid);
          return pods;
        },
      }),
    ],
    [
      'refusal',
      'a refusal counts as passing',
      (c) => ({
        createPod: (...args) => c.createPod(...args).catch((e: Error) => Promise.reject(new Error(e.message))),
      }),
    ],
    [
      'restarted',
      'createPod is idempotent by UID only',
      (c) => ({ createPod: async (...args) => (c.pods.has(args[0].metadata.uid) ? undefined : c.createPod(...args)) }),
    ],
    [
      'restarted',
      'the cloud starts the pod again on its own',
      (c) => ({
        createPod: async (pod, call) => {
          await c.createPod(pod, call);
          if (pod.spec?.restartPolicy === 'Always')
            c.clock.afterFunc(500, () => void c.createPod(pod, { ...call, restartCount: call.restartCount + 1 }));
        },
      }),
    ],
    [
      'restart-repeatable',
      'a pod that has stopped is started by any call',
      (c) => ({
        createPod: async (pod, call) => {
          const { uid } = pod.metadata;
          const { restartCount = 0, state } = c.pods.get(uid) ?? {};
          if (state === 'stopped' && restartCount === call.restartCount) c.pods.delete(uid);
          await c.createPod(pod, call);
        },
      }),
    ],
    [
      'restart-repeatable',
      'a late call starts the first run again',
      (c) => ({
        createPod: async (pod, call) => {
          const { uid } = pod.metadata;
          if (call.restartCount < (c.pods.get(uid)?.restartCount ?? 0)) c.pods.delete(uid);
          await c.createPod(pod, call);
        },
      }),
    ],
    [
      'restart-repeatable',
      'a call for the run that is being created conflicts',
      (c) => ({
        createPod: async (pod, call) => {
          if (call.restartCount > 0 && c.pods.get(pod.metadata.uid)?.restartCount === call.restartCount)
            throw new Error('409');
          await c.createPod(pod, call);
        },
      }),
    ],
    ['restart-reported', 'restartCount is not reported', shows(() => ({ restartCount: undefined }))],
    [
      'restart-reported',
      'the pod seems to have started when it was created',
      (c) => {
        const starts = new Map<string, Date>();
        return shows(({ uid, startedAt }) => {
          if (startedAt !== undefined && !starts.has(uid)) starts.set(uid, startedAt);
          return {
            startedAt: starts.get(uid),
            containers: c.pods.get(uid)?.containers?.map(({ name, exit }) => ({ name, exit })),
          };
        })(c);
      },
    ],
    [
      'restart-reported',
      'the end of the run before is the end of the next one',
      (c) => {
        const ended = new Map<string, ProviderPod>();
        return shows((pod) => {
          if (pod.state === 'stopped' && !ended.has(pod.uid)) ended.set(pod.uid, pod);
          return { ...ended.get(pod.uid), restartCount: pod.restartCount };
        })(c);
      },
    ],
    ['kill-ends', 'killContainer is only a request to somebody', () => ({ killContainer: async () => {} })],
    [
      'kill-ends',
      'killing needs a permission that the provider does not have',
      () => ({ killContainer: () => Promise.reject(new Error('403')) }),
    ],
    [
      'kill-reported',
      'the pod is removed, as by deletePod',
      (c) => ({ killContainer: async ({ uid }) => void c.pods.delete(uid) }),
    ],
    [
      'kill-reported',
      'the end has no exit code',
      (c) => ({
        killContainer: async ({ uid }) => {
          const pod = c.pods.get(uid);
          if (pod !== undefined) c.set({ ...pod, state: 'stopped', containers: undefined });
        },
      }),
    ],
    [
      'kill-reported',
      'the cloud says why the pod has stopped',
      (c) => ({
        killContainer: async (pod, name, call) => {
          await c.killContainer(pod, name, call);
          c.clock.afterFunc(60, () => {
            const killed = c.pods.get(pod.uid);
            if (killed?.state === 'stopped') c.set({ ...killed, reason: 'Killed' });
          });
        },
      }),
    ],
    [
      'kill-reported',
      'only the container ends, although the node restarts pods',
      (c) => ({
        killContainer: async ({ uid }, name) => {
          const pod = c.pods.get(uid);
          if (pod !== undefined) c.set({ ...pod, containers: [{ name, exit: { exitCode: 137 } }] });
        },
      }),
    ],
    [
      'kill-repeatable',
      'killing what has ended is an error',
      (c) => ({
        killContainer: async (pod, name, call) => {
          if (c.pods.get(pod.uid)?.state === 'stopped') throw new Error('409');
          await c.killContainer(pod, name, call);
        },
      }),
    ],
    [
      'kill-repeatable',
      'the present run is ended, whatever `restartCount` says',
      (c) => ({
        killContainer: (pod, name, call) =>
          c.killContainer(pod, name, { ...call, restartCount: c.pods.get(pod.uid)?.restartCount ?? 0 }),
      }),
    ],
    [
      'kill-unknown',
      'killing what is unknown is an error',
      (c) => ({
        killContainer: async (pod, name, call) => {
          if (!c.pods.has(pod.uid)) throw new Error('404');
          await c.killContainer(pod, name, call);
        },
      }),
    ],
    [
      'kill-others',
      'all containers with this name are ended',
      (c) => ({
        killContainer: async (pod, name, call) => {
          for (const uid of c.pods.keys()) await c.killContainer({ ...pod, uid }, name, call);
        },
      }),
    ],
    ['notified', 'nothing is notified', () => ({ notifyPods: () => () => {} })],
    [
      'unsubscribe',
      'the subscription stays',
      (c) => ({
        notifyPods: (listener) => {
          c.notifyPods(listener);
          return () => {};
        },
      }),
    ],
    ['log-content', 'the log has no newlines', () => ({ logs: async () => text('one two') })],
    ['log-tail', 'tailLines does not count', () => ({ logs: async () => text('one\ntwo\n') })],
    [
      'log-ends',
      'each log is followed',
      (c) => ({ logs: (pod, name, log, call) => c.logs(pod, name, { ...log, follow: true }, call) }),
    ],
    ['exec-result', 'the exit code is lost', (c) => ({ exec: async (...args) => (await c.exec(...args)) && 0 })],
    ['unknown-container', 'an unknown pod has an empty log', () => ({ logs: async () => text('') })],
    ['stats', 'there are no containers', () => ({ stats: async () => [] })],
  ];

  it.each(mistakes)('breaks the rule %s: %s', async (rule, _, mistake) => {
    expect(await brokenRules(mistake)).toContain(rule);
  });

  it('breaks the rule survives-restart: a new process begins with an empty cloud', async () => {
    const isEmpty: Mistake = (cloud) => ({ listPods: async () => (cloud.pods.clear(), []) });
    expect(await brokenRules(none, isEmpty)).toContain('survives-restart');
  });

  it('each rule is broken by a test, and each result has the reason', async () => {
    const tried = new Set([...mistakes.map(([rule]) => rule), 'survives-restart']);
    expect([...tried].toSorted()).toEqual(Object.keys(providerRules).toSorted());
    const { results } = await check(() => ({ listPods: async () => [] }));
    for (const { rule, message } of results) expect(message).toContain(providerRules[rule as ProviderRule]);
  });
});

function later(ms: number, run: () => void) {
  const timer = setTimeout(run, ms);
  return { stop: () => clearTimeout(timer) };
}

function once<T>(error: Error, call: () => Promise<T>): () => Promise<T> {
  let isFirst = true;
  return () => {
    const wasFirst = isFirst;
    isFirst = false;
    return wasFirst ? Promise.reject(error) : call();
  };
}

function withState(pod: ProviderPod | undefined, state: ProviderPod['state']): ProviderPod | undefined {
  return pod && { ...pod, state };
}

function seconds(date: Date | undefined): Date | undefined {
  return date && new Date(date.getTime() / 1000);
}

async function* text(content: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(content);
}
