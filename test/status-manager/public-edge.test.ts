import { describe, expect, it } from 'vitest';
import { createKubeTransport } from '../../src/kube/http/transport.ts';
import { createPodClient } from '../../src/kube/http/index.ts';
import {
  fileJournal,
  generateAPIPodStatus,
  openCheckpointState,
  podResourcesAreReclaimed,
  RequestLimiter,
  StatusManager,
  StatusManagerError,
} from '../../src/status-manager/index.ts';
import { canonicalPodStatus } from '../../src/status-manager/status/canonical.ts';
import { computePodQOS } from '../../src/status-manager/status/qos.ts';
import { containerShouldRestart } from '../../src/status-manager/status/container-restart.ts';
import { createCoreV1PodClient } from '../../src/kube/client/core-v1-pod-client.ts';
import { getPhase } from '../../src/status-manager/status/phase.ts';
import { createInformerPodManager, informerPodManagerFrom } from '../../src/kube/informer/index.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';

/** What somebody without types passes; each call is to name the field, never to fail with a TypeError. */
const wrong = undefined as never;
const nothing = null as never;
const number = 7 as never;
const text = 'x' as never;
const pod = { metadata: { uid: 'a', name: 'a', namespace: 'default' }, spec: { containers: [{ name: 'app' }] } };
const transport = createKubeTransport({
  clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
  users: [{ name: 'u', user: {} }],
  contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
  'current-context': 'x',
});

describe('functions and classes other than StatusManager name the invalid argument', () => {
  it.each<[string, () => unknown, string]>([
    ['generateAPIPodStatus without a pod', () => generateAPIPodStatus(wrong, { containerStatuses: [] }), 'pod'],
    ['generateAPIPodStatus without what was observed', () => generateAPIPodStatus(pod, wrong), 'observed'],
    [
      'generateAPIPodStatus without containerStatuses',
      () => generateAPIPodStatus(pod, {} as never),
      'observed.containerStatuses',
    ],
    [
      'generateAPIPodStatus with an invalid container status',
      () => generateAPIPodStatus(pod, { containerStatuses: [nothing] }),
      'observed.containerStatuses[0]',
    ],
    [
      'generateAPIPodStatus with podIPs that are no list',
      () => generateAPIPodStatus(pod, { containerStatuses: [], podIPs: number }),
      'observed.podIPs',
    ],
    [
      'generateAPIPodStatus with a podIP that is no text',
      () => generateAPIPodStatus(pod, { containerStatuses: [], podIPs: [nothing] }),
      'observed.podIPs[0]',
    ],
    ['canonicalPodStatus without options reads strictly', () => canonicalPodStatus(nothing), 'status'],
    ['canonicalPodStatus with options that are none', () => canonicalPodStatus({}, nothing), 'options'],
    ['getPhase', () => getPhase(wrong, [], false, false), 'pod'],
    ['computePodQOS', () => computePodQOS(nothing), 'pod'],
    ['containerShouldRestart', () => containerShouldRestart(wrong, {}, 0), 'container'],
    ['podResourcesAreReclaimed', () => podResourcesAreReclaimed(pod, {}, wrong), 'resources'],
    ['createPodClient without a kubeconfig', () => createPodClient(wrong), 'kubeConfig'],
    ['createPodClient with a text', () => createPodClient(text), 'kubeConfig'],
    ['createPodClient with null options', () => createPodClient({}, nothing), 'options'],
    ['createCoreV1PodClient', () => createCoreV1PodClient(wrong), 'api'],
    ['RequestLimiter', () => new RequestLimiter(nothing), 'options'],
    ['createInformerPodManager', () => createInformerPodManager(wrong), 'options'],
    ['createInformerPodManager without client', () => createInformerPodManager({ nodeName: 'n' } as never), 'client'],
    ['informerPodManagerFrom', () => informerPodManagerFrom(wrong), 'informer'],
    [
      'InformerPodManager.subscribe',
      () => createInformerPodManager({ client: { transport }, nodeName: 'n' }).subscribe(wrong),
      'listener',
    ],
    [
      'InformerPodManager.setStaticPods',
      () => createInformerPodManager({ client: { transport }, nodeName: 'n' }).setStaticPods(number),
      'pods',
    ],
  ])('%s', (_what, call, path) => {
    expect(call).toThrow(StatusManagerError);
    expect(call).toThrow(expect.objectContaining({ path }));
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['fileJournal', () => fileJournal('dir', nothing), 'options'],
    ['openCheckpointState', () => openCheckpointState(number), 'dir'],
  ])('%s', async (_what, call, path) => {
    await expect(call()).rejects.toMatchObject({ name: 'StatusManagerError', path });
  });
});

it('whenWritten resolves immediately without a client, because nothing will ever be written', async () => {
  const manager = new StatusManager({ podCouldHaveRunningContainers: () => false, logger: recordingLogger() });
  manager.setPodStatus(pod, { phase: 'Running' });
  expect(await manager.whenWritten('a')).toEqual({ written: false, reason: 'no-client' });
  await manager.stop();
});
