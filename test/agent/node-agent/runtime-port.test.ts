import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, ValidPod } from 'kubelet-status-manager';
import type { ContainerConfig, ContainerRuntime, Node } from 'kubelet-status-manager/agent';
import { agentProblems } from '../../../src/agent/node-agent/agent-problems.ts';
import { updateContainers } from '../../../src/agent/pod-syncer/update-containers.ts';
import { ActuatedResources } from '../../../src/agent/allocation/actuated-resources.ts';
import { FakeClock, FakeContainerRuntime, silentLogger } from 'kubelet-status-manager/testing';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { TestCluster } from './test-cluster.ts';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

let cluster: TestCluster;
let created: ContainerConfig[];
beforeEach(async () => {
  cluster = await TestCluster.start();
  created = [];
  const createContainer = cluster.runtime.createContainer.bind(cluster.runtime);
  cluster.runtime.createContainer = (config, options) => (created.push(config), createContainer(config, options));
});
afterEach(() => cluster[Symbol.asyncDispose]());

const podOf = (spec: object = {}): Pod => ({
  metadata: { name: 'web' },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

describe('what the agent tells a runtime', () => {
  it('the first container of a new sandbox is created with the addresses of the pod', async () => {
    await cluster.startAgent();
    await cluster.create(podOf());
    await cluster.advance(2000);
    expect(created.map(({ podIPs }) => podIPs)).toEqual([[cluster.status('web')?.podIP]]);
  });

  it('imageRef and pullImage get the pod that needs the image', async () => {
    const imagePods: (string | undefined)[] = [];
    const { imageRef, pullImage } = cluster.runtime;
    Object.assign(cluster.runtime, {
      imageRef: (image, options) => (imagePods.push(options?.pod?.metadata.name), imageRef!(image, options)),
      pullImage: (image, pod, options) => (imagePods.push(pod.metadata.name), pullImage!(image, pod, options)),
    } satisfies Partial<ContainerRuntime>);
    await cluster.startAgent();
    await cluster.create(podOf());
    await cluster.advance(2000);
    expect(imagePods).toEqual(['web', 'web']);
  });

  it('with hostNetwork, the addresses of the pod are those of the node', async () => {
    await cluster.startAgent();
    await cluster.create(podOf({ hostNetwork: true }));
    await cluster.advance(2000);
    expect(created.map(({ podIPs }) => podIPs)).toEqual([['10.1.2.3']]);
  });

  it('unused images are removed when their file system is nearly full, unless `imageGC` is false', async () => {
    const removed: string[] = [];
    Object.assign(cluster.runtime, {
      listImages: async () => [{ id: 'sha256:1', sizeBytes: 1 }],
      removeImage: async (id: string) => void removed.push(id),
      imageFsStats: async () => ({ imageFs: { time: '', capacityBytes: 100, availableBytes: 10 } }),
    } satisfies Partial<ContainerRuntime>);
    const agent = await cluster.startAgent({ imageGC: false });
    await cluster.advance(310_000);
    expect(removed).toEqual([]);
    await agent.stop();
    await cluster.startAgent({ imageGC: { minimumAgeMs: 60_000 } });
    await cluster.advance(310_000);
    expect(removed).toEqual(['sha256:1']);
  });

  it('a pod that exceeds its limit of local storage is evicted; the Node, inspect(), the page and a metric say so', async () => {
    const limits = { 'ephemeral-storage': '1Ki' };
    const counted: string[] = [];
    const refuse = (): never => {
      throw new Error('metrics of the user');
    };
    const podOfLimit = podOf({ containers: [{ name: 'app', image: 'app:1', resources: { limits } }] });
    Object.assign(cluster.runtime, {
      listPodStats: async () =>
        (await cluster.runtime.listPods()).map(({ uid, name, namespace }) => {
          const logs = { time: '', usedBytes: 2000, inodesUsed: 1 };
          const containers = [{ name: 'app', startTime: '', logs }];
          return { podRef: { uid, name, namespace }, startTime: '', containers };
        }),
    } satisfies Partial<ContainerRuntime>);
    // No machine has this much memory.
    const agent = await cluster.startAgent({
      eviction: { hard: { 'memory.available': '8Ei' }, rootDirectory: '/' },
      metrics: {
        incRequests: () => {},
        recordKubeletMetric: (name, _value, ...labels) =>
          name === 'evictions' ? (counted.push(...labels), refuse()) : undefined,
      },
    });
    await cluster.create(podOfLimit);
    await expect.poll(async () => [await cluster.advance(10_000), cluster.status('web')?.reason][1]).toBe('Evicted');
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1Ki. ',
    });
    expect(cluster.status('web')!.conditions!.map(({ type }) => type)).not.toContain('DisruptionTarget');
    await cluster.advance(10_000);
    const { conditions } = (cluster.server.nodes.get('node-a') as Node).status!;
    expect(conditions).toContainEqual(expect.objectContaining({ type: 'MemoryPressure', status: 'True' }));
    expect(counted).toEqual(['ephemeralpodfs.limit']);
    expect(agent.inspect().eviction).toMatchObject({
      metThresholds: [{ signal: 'memory.available', threshold: '8Ei', isEvicting: true }],
      ...{ pressure: ['MemoryPressure'], lastEviction: { pod: 'default/web' } },
    });
    expect(agentProblems(agent.inspect(), cluster.clock.now())).toEqual([
      expect.stringMatching(
        /^Memory\.available fell below the eviction threshold 8Ei at 03:0\d:\d\dZ: \d+[KMG]?i? available; pods are evicted until 8Ei is available\.$/,
      ),
      expect.stringMatching(
        /^The pod default\/web was evicted at 03:0\d:\d\dZ: Pod ephemeral local .* limit of containers 1Ki\.$/,
      ),
    ]);
  });

  it('preparePod is called before the sandbox is created; when it fails, an event says why, and it is tried again', async () => {
    const steps: string[] = [];
    let failure: string | undefined = 'no cgroups';
    const preparePod: NonNullable<ContainerRuntime['preparePod']> = async ({ metadata }) => {
      steps.push(`${metadata?.name}: ${cluster.runtime.callsOf({ method: 'runPodSandbox' }).length}`);
      if (failure !== undefined) throw new Error(failure);
    };
    Object.assign(cluster.runtime, { preparePod });
    await cluster.startAgent();
    await cluster.create(podOf());
    await cluster.advance(2000);
    expect(cluster.runtime.callsOf({ method: 'runPodSandbox' })).toEqual([]);
    expect(cluster.podEvents()).toContain('web: FailedCreatePodContainer');
    failure = undefined;
    await cluster.advance(30_000);
    expect(cluster.status('web')?.phase).toBe('Running');
    expect(new Set(steps)).toEqual(new Set(['web: 0']));
  });

  it('updateQOSCgroups is called with the active pods before a pod is prepared, after it was killed, and each minute', async () => {
    const steps: string[] = [];
    const stepWith = (step: string, pods: readonly ValidPod[]): void => {
      steps.push([step, ...pods.map(({ metadata }) => metadata.name)].join(' '));
    };
    Object.assign(cluster.runtime, {
      updateQOSCgroups: async (pods: readonly ValidPod[]) => stepWith('update', pods),
      preparePod: async (pod: ValidPod) => stepWith('prepare', [pod]),
      releasePod: async (pod: ValidPod) => stepWith('release', [pod]),
    });
    await cluster.startAgent();
    await cluster.advance(1000);
    steps.length = 0;
    await cluster.create(podOf());
    await cluster.advance(2000);
    expect(steps.splice(0)).toEqual(['update web', 'prepare web']);
    await cluster.advance(60_000);
    expect(steps.splice(0)).toEqual(['update web']);
    cluster.server.pods.delete('default', 'web');
    await cluster.advance(10_000);
    expect(steps.splice(0)).toEqual(['update web', 'release web']);
    await cluster.advance(60_000);
    expect(steps).toEqual(['update']);
  });

  it('releasePod is called when a pod has ended, without being deleted, until it succeeds', async () => {
    let failures = 1;
    const steps: string[] = [];
    const releasePod: NonNullable<ContainerRuntime['releasePod']> = async ({ metadata: { name, uid } }) => {
      steps.push(`${name} ${cluster.runtime.container(uid, 'app')?.state}`);
      if (failures-- > 0) throw new Error('busy');
    };
    Object.assign(cluster.runtime, { releasePod });
    await cluster.startAgent();
    const uid = await cluster.create(podOf({ restartPolicy: 'Never' }));
    await cluster.advance(5000);
    expect(steps).toEqual([]);
    cluster.runtime.exit(cluster.runtime.container(uid, 'app')!.id);
    await cluster.advance(120_000);
    expect(steps).toEqual(['web exited', 'web exited']);
  });

  it('a pod whose new sandbox cannot be read starts no containers until a later sync', async () => {
    await cluster.startAgent();
    cluster.runtime.fail({ method: 'getPod' }, 'not now', 3);
    await cluster.create(podOf());
    await cluster.advance(60_000);
    expect(cluster.status('web')?.phase).toBe('Running');
    expect(cluster.runtime.callsOf({ method: 'runPodSandbox' })).toHaveLength(1);
  });

  it('an ephemeral container is created with the ID of its target; a target that is missing is a CreateContainerConfigError', async () => {
    await cluster.startAgent();
    cluster.runtime.fail({ method: 'createContainer', container: 'broken' }, 'no space', 100);
    const broken = { name: 'broken', image: 'app:1' };
    const uid = await cluster.create(podOf({ containers: [{ name: 'app', image: 'app:1' }, broken] }));
    await cluster.advance(2000);
    const ephemeralContainers = [
      { name: 'debug', image: 'debug:1', targetContainerName: 'app' },
      { name: 'lost', image: 'debug:1', targetContainerName: 'broken' },
    ];
    const contentType = 'application/strategic-merge-patch+json';
    const path = '/api/v1/namespaces/default/pods/web/ephemeralcontainers';
    const { transport } = cluster.server.client();
    await transport.request('PATCH', path, { body: { spec: { ephemeralContainers } }, contentType });
    await transport.close();
    await cluster.advance(3000);
    const target = cluster.runtime.container(uid, 'app')?.id;
    expect(created.find(({ container }) => container.name === 'debug')?.targetContainerID).toBe(target);
    expect(created.map(({ container }) => container.name)).not.toContain('lost');
    const lost = cluster.status('web')?.ephemeralContainerStatuses?.find(({ name }) => name === 'lost');
    expect(lost?.state.waiting).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'unable to find target container broken',
    });
  });
});

it('agent.eventRecorder writes Events to the API server, or passes them to the recorder of the options', async () => {
  const recorded: string[] = [];
  const own = await cluster.startAgent({ eventRecorder: { event: ({ reason }) => void recorded.push(reason) } });
  const pod = { metadata: { name: 'web', namespace: 'default', uid: 'uid-1' } };
  own.eventRecorder.event({ pod, type: 'Warning', reason: 'ToOptions', message: 'disk full' });
  expect(recorded).toContain('ToOptions');
  await own.stop();
  const agent = await cluster.startAgent();
  agent.eventRecorder.event({ pod, type: 'Warning', reason: 'ToServer', message: 'disk full' });
  await cluster.advance(2000);
  expect(cluster.podEvents()).toEqual(['web: ToServer']);
});

it('a resize passes the pod and the container to the runtime, and the pod-level resources before and after it', async () => {
  const steps: unknown[] = [];
  const resources = { limits: { cpu: '3' } };
  const pod: ValidPod = {
    metadata: { uid: 'u', name: 'web', namespace: 'ns' },
    spec: { resources, containers: [{ name: 'app', resources: { limits: { cpu: '2' } } }] },
  };
  const [container] = pod.spec!.containers!;
  const runtime: ContainerRuntime = Object.assign(new FakeContainerRuntime(), {
    updatePodResources: async (_pod: ValidPod, step: string, options: object) => void steps.push([step, options]),
    updateContainerResources: async (_id: string, _resources: object, options: object) => void steps.push(options),
  });
  const actuatedResources = new ActuatedResources(new MemoryState(), { clock: new FakeClock(), logger: silentLogger });
  const { signal } = new AbortController();
  const scope = podScope(pod);
  await updateContainers(pod, [{ containerID: 'fake://1', container: container!, resource: 'cpu' } as never], {
    ...{ runtime: asBounded(runtime), actuatedResources, sandboxID: 'sandbox', signal, scope },
  });
  const options = { signal, scope, sandboxID: 'sandbox' };
  expect(steps).toEqual([['before', options], { signal, scope, pod, container }, ['after', options]]);
  expect(actuatedResources.pod('u').resources).toEqual(resources);
});
