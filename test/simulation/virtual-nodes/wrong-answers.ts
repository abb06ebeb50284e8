import { ProviderError, type ProviderPod } from '../../../src/virtual-nodes/index.ts';
import type { Random } from '../../chaos/random.ts';

/** What a provider should not list: each kind may have an effect on the pod that it names, and on no other. */
const wrongLists: Readonly<Record<string, (pods: ProviderPod[], random: Random) => unknown>> = {
  nothing: () => undefined,
  'no list': (pods) => ({ length: pods.length, 0: pods[0] }),
  'a getter that throws': (pods) => {
    const entry = Object.defineProperty({}, 'uid', {
      enumerable: true,
      get: () => {
        throw new Error('simulated: a getter');
      },
    });
    return [...pods, entry];
  },
  'an entry without UID': (pods) => [{ namespace: 'default', name: 'x', nodeName: 'vn-0', state: 'running' }, ...pods],
  'a pod twice': (pods, random) => (pods.length === 0 ? pods : [...pods, { ...random.pick(pods), state: 'stopped' }]),
  'a wrong state': (pods, random) => changed(pods, random, { state: 'Running' }),
  'a wrong count': (pods, random) => changed(pods, random, { containers: [{ name: 'c0', restartCount: -1 }] }),
  'a wrong time': (pods, random) => changed(pods, random, { startedAt: new Date(Number.NaN) }),
  'many containers': (pods, random) =>
    changed(pods, random, { containers: Array.from({ length: 7_000 }, (_, i) => ({ name: `c${i}`, ready: true })) }),
  'a cycle': (pods, random) => {
    const cycle: Record<string, unknown> = {};
    cycle['containers'] = [cycle];
    return changed(pods, random, cycle);
  },
  'a pod of no node': (pods) => [...pods, podOn('vn-99')],
  'a pod of another node': (pods, random) => changed(pods, random, { nodeName: 'vn-0' }),
};

function changed(pods: readonly ProviderPod[], random: Random, change: object): unknown[] {
  const index = random.integer(0, pods.length);
  return pods.map((pod, i) => (i === index ? { ...pod, ...change } : pod));
}

function podOn(nodeName: string): ProviderPod {
  return { uid: 'nobody', namespace: 'default', name: 'nobody', nodeName, state: 'running' };
}

export function wrongList(pods: ProviderPod[], random: Random): { readonly kind: string; readonly list: unknown } {
  const kind = random.pick(Object.keys(wrongLists));
  return { kind, list: wrongLists[kind]!(pods, random) };
}

/** What `getPod` may resolve with although it is about another pod, or about none. */
export function wrongPod(pod: ProviderPod | undefined, random: Random): unknown {
  return random.pick<unknown>([null, 'x', { ...pod, uid: 'nobody' }, { ...pod, state: 1 }, [pod]]);
}

/** What a provider may throw. */
export function failureOfCloud(random: Random): unknown {
  const retryAfterMs = random.pick([undefined, 0, Number.NaN, 2_000, 10_000]);
  return random.pick<() => unknown>([
    () => new Error('simulated: the cloud is busy'),
    () => new Error('simulated: the cloud is busy'),
    () => new ProviderError('simulated: too many requests', { retryAfterMs }),
    () => new ProviderError('simulated: too many requests', { retryAfterMs, reason: 'TooManyRequests' }),
    () => undefined,
    () => 'simulated: a text',
    () => ({
      get message(): string {
        throw new Error('simulated: a getter of an error');
      },
    }),
  ])();
}
