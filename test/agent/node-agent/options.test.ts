import { describe, expect, it } from 'vitest';
import { StatusManagerError } from 'kubelet-status-manager';
import { apiSource, createNodeAgent, fileSource } from 'kubelet-status-manager/agent';
import { FakeContainerRuntime, silentLogger } from 'kubelet-status-manager/testing';

const client = {
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
  contexts: [{ name: 'x', context: { cluster: 'c' } }],
  'current-context': 'x',
};
const valid = { nodeName: 'node-a', client, runtime: new FakeContainerRuntime(), logger: silentLogger };
const { listPods, ...withoutListPods } = {
  ...Object.fromEntries(
    ['listPods', 'getPod', 'createContainer', 'startContainer', 'stopContainer', 'removeContainer', 'execSync'].map(
      (name) => [name, () => {}],
    ),
  ),
} as Record<string, unknown>;

describe('createNodeAgent names the option that is wrong', () => {
  it.each<[string, object]>([
    ['nodeName', { nodeName: '' }],
    ['nodeName', { nodeName: 'Node_A' }],
    ['runTime', { runTime: {} }],
    ['runtime', { runtime: undefined }],
    ['runtime', { runtime: withoutListPods }],
    ['runtime', { runtime: { ...withoutListPods, listPods, runPodSandbox: () => {} } }],
    ['runtime.subscribe', { runtime: { ...withoutListPods, listPods, subscribe: true } }],
    ['runtimeRequestTimeoutMs', { runtimeRequestTimeoutMs: 0 }],
    ['client', { client: 'https://127.0.0.1' }],
    ['client', { client: { getPod: () => {}, patchPodStatus: () => {}, deletePod: () => {} } }],
    ['sources', { client: undefined }],
    ['sources[0]', { client: undefined, sources: [apiSource()] }],
    ['sources', { sources: { file: { path: 'x' } } }],
    ['sources[0]', { sources: [{ name: 'own' }] }],
    ['sources[0].name', { sources: [{ name: '', start: () => {}, stop: async () => {} }] }],
    ['sources[1].name', { sources: [fileSource({ path: 'x' }), fileSource({ path: 'y' })] }],
    ['node.addresses', { node: { addresses: ['localhost'] } }],
    ['node.taint', { node: { taint: [] } }],
    ['node.leaseDurationSeconds', { node: { leaseDurationSeconds: 0.5 } }],
    ['node', { node: null }],
    ['node', { node: [] }],
    ['node.labels', { node: { labels: { zone: 1 } } }],
    ['node.annotations', { node: { annotations: 'a=b' } }],
    ['node.taints', { node: { taints: {} } }],
    ['node.taints', { node: { taints: [{ key: 'a' }] } }],
    ['node.providerID', { node: { providerID: 5 } }],
    ['node.addresses', { node: { addresses: ['10.0.0.1', '10.0.0.2'] } }],
    ['runtimeRequestTimeoutMs', { runtimeRequestTimeoutMs: '5' }],
    ['actuatedState', { actuatedState: '/var/lib/state' }],
    ['actuatedState', { actuatedState: {} }],
    ['imagePullRecordsDirectory', { imagePullRecordsDirectory: 'var' }],
    ['imagePullRecordsDirectory', { imagePullRecordsDirectory: 1 }],
    ['imageGC.highThresholdPercent', { imageGC: { highThresholdPercent: 101 } }],
    ['imageGC.lowThresholdPercent', { imageGC: { lowThresholdPercent: 90 } }],
    ['imageGC.minimumAgeMs', { imageGC: { minimumAgeMs: -1 } }],
    ['imageGC.maximumAge', { imageGC: { maximumAge: 1 } }],
    ['imagePulls.serializeImagePulls', { imagePulls: { serializeImagePulls: 1 } }],
    ['imagePulls.maxParallelImagePulls', { imagePulls: { maxParallelImagePulls: 0 } }],
    ['imagePulls.maxParallelImagePulls', { imagePulls: { serializeImagePulls: true, maxParallelImagePulls: 2 } }],
    [
      'imagePulls.imagePullCredentialsVerificationPolicy',
      { imagePulls: { imagePullCredentialsVerificationPolicy: 'Sometimes' } },
    ],
    [
      'imagePulls.preloadedImagesVerificationAllowlist',
      { imagePulls: { preloadedImagesVerificationAllowlist: ['app'] } },
    ],
    [
      'imagePulls.preloadedImagesVerificationAllowlist',
      { imagePulls: { preloadedImagesVerificationAllowlist: 'app' } },
    ],
    ['imagePulls.qps', { imagePulls: { qps: 1 } }],
    ['eviction.hard.memory', { eviction: { hard: { memory: '1Mi' } } }],
    ['eviction.soft.memory', { eviction: { soft: { memory: '1Mi' } } }],
    ['eviction.maxPodGracePeriodSeconds', { eviction: { maxPodGracePeriodSeconds: -1 } }],
    ['eviction.rootDirectory', { eviction: { rootDirectory: 'var' } }],
    ['eviction.pressureTransitionPeriodMs', { eviction: { pressureTransitionPeriodMs: -1 } }],
    ['canAdmitPod', { canAdmitPod: true }],
    ['volumeManager', { volumeManager: { waitForAttachAndMount: () => {} } }],
    ['eventRecorder', { eventRecorder: {} }],
    ['statusManager.clock', { statusManager: { clock: {} } }],
    ['syncPeriodMs', { statusManager: { syncPeriodMs: 1 } }],
    ['clock', { clock: {} }],
  ])('%s: %j', (path, options) => {
    const create = (): unknown => createNodeAgent({ ...valid, ...options });
    expect(create).toThrow(StatusManagerError);
    expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }) as Error);
  });

  it('a kubeconfig that cannot be used', () => {
    expect(() => createNodeAgent({ ...valid, client: { clusters: [] } })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT' }) as Error,
    );
  });

  it('options of stop', async () => {
    const agent = createNodeAgent(valid);
    for (const options of [{ drain: 1 }, { terminatePods: 'yes' }, { gracePeriodSeconds: -1 }, { force: true }])
      expect(() => agent.stop(options as object)).toThrow(StatusManagerError);
    await agent.stop();
  });
});
