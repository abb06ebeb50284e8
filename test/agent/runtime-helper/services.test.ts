import { afterEach, beforeEach, expect, it } from 'vitest';
import { createRuntimeHelper } from '../../../src/agent/runtime-helper/create-runtime-helper.ts';
import { ContainerConfigError } from '../../../src/node/runtime/container-runtime.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { type Call, FakeTransport } from '../../kube/informer/fake-transport.ts';
import { TestDirectories } from '../../support/directories.ts';

const directories = new TestDirectories();
let api: FakeTransport;
let clock: FakeClock;
let helper: ReturnType<typeof createRuntimeHelper>;

beforeEach(() => {
  api = new FakeTransport();
  clock = new FakeClock();
  helper = createHelper();
});
afterEach(async () => {
  await helper.close();
  directories.removeAll();
  if (clock.pendingTimers > 0) throw new Error('a timer was left behind');
});

function createHelper(): ReturnType<typeof createRuntimeHelper> {
  const transport = Object.assign(api, { closeIdle: async () => {}, close: async () => {} });
  const options = { rootDirectory: directories.create(), mounts: false, clock, logger: silentLogger };
  return createRuntimeHelper({ client: { transport }, ...options });
}

const container = { name: 'app' };

function podIn(namespace: string, annotations: Record<string, string> = {}): ValidPod {
  const spec = { enableServiceLinks: true, containers: [container] };
  return { metadata: { namespace, name: 'web', uid: `uid-${namespace}`, annotations }, spec };
}

function service(name: string, namespace: string): object {
  return {
    metadata: { name, namespace, resourceVersion: '11' },
    spec: { clusterIP: '10.0.0.1', ports: [{ port: 1 }] },
  };
}

/** The Services in the environment of a container of the namespace. */
async function servicesIn(namespace: string): Promise<string[]> {
  const { envs } = await helper.generateRunContainerOptions(podIn(namespace), container, []);
  return envs.flatMap(({ name }) => /^(.*)_SERVICE_HOST$/.exec(name)?.[1] ?? []);
}

/** Lists `listed` and opens the watch. */
async function sync(...listed: readonly object[]): Promise<Call> {
  const started = servicesIn('a');
  api.last(1).list('10', [service('kubernetes', 'default'), ...listed]);
  await started;
  await clock.yieldToEventLoop();
  return api.last(2).open();
}

it('a container gets the Services of its namespace that the watch has delivered, and kubernetes', async () => {
  const watch = await sync(service('first', 'a'), service('elsewhere', 'b'), service('other', 'default'));
  expect(await servicesIn('a')).toEqual(['KUBERNETES', 'FIRST']);
  watch.event('ADDED', service('second', 'a')).event('ADDED', service('third', 'b'));
  await clock.yieldToEventLoop();
  expect(await servicesIn('a')).toEqual(['KUBERNETES', 'FIRST', 'SECOND']);
  watch.event('DELETED', service('first', 'a'));
  await clock.yieldToEventLoop();
  expect(await servicesIn('a')).toEqual(['KUBERNETES', 'SECOND']);
  expect(await servicesIn('b')).toEqual(['KUBERNETES', 'ELSEWHERE', 'THIRD']);
});

it('once the Services have been listed, the start of a container waits for no request', async () => {
  const watch = await sync(service('first', 'a'));
  // No request gets a response.
  expect(await servicesIn('a')).toEqual(['KUBERNETES', 'FIRST']);
  expect(await servicesIn('never-seen')).toEqual(['KUBERNETES']);
  expect(api.calls).toHaveLength(2);
  watch.fail(new APIError('reset', { kind: 'network' }));
  await clock.yieldToEventLoop();
  clock.advance(1_600);
  await clock.yieldToEventLoop();
  expect(api.last(3)).toMatchObject({ isWatch: true, isOver: false });
  expect(await servicesIn('a')).toEqual(['KUBERNETES', 'FIRST']);
});

it('the Services are listed while the volumes of the first pod are set up; before, no request is sent', async () => {
  expect(api.calls).toEqual([]);
  await helper.volumeManager.waitForAttachAndMount(podIn('a'), {});
  expect(api.last(1)).toMatchObject({ path: '/api/v1/services', isWatch: false });
});

it('a container waits up to 10 s for the first list; a container of a static pod starts without Services', async () => {
  const failure = servicesIn('a').catch((error: Error) => error);
  const pod = podIn('a', { 'kubernetes.io/config.source': 'file' });
  expect((await helper.generateRunContainerOptions(pod, container, [])).envs).toEqual([]);
  clock.advance(10_000);
  const message = 'services have not yet been read at least once, cannot construct envvars';
  expect(await failure).toEqual(new ContainerConfigError(message));
});

it('close() ends the watch, and may be called again and before the first pod', async () => {
  const watch = await sync();
  await helper.close();
  await helper.close();
  expect(watch.isOver).toBe(true);
  await createHelper().close();
  expect(api.calls).toHaveLength(2);
});

it('when it has been closed, no request and no timer is left of pods whose volumes are being set up', async () => {
  const volumes = [
    { name: 'map', configMap: { name: 'late' } },
    { name: 'token', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
    { name: 'lost', hostPath: { path: '/none', type: 'Directory' } },
  ];
  const pod = podIn('default');
  const result = helper.volumeManager.waitForAttachAndMount({ ...pod, spec: { ...pod.spec, volumes } }, {});
  await clock.advanceAsync(100);
  await helper.close();
  await expect(result).rejects.toThrow('the pod has ended on this node');
  await clock.advanceAsync(0);
  expect(clock.pendingTimers).toBe(0);
});
