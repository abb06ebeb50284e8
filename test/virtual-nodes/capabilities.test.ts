import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PodSpec, StatusManagerError } from 'kubelet-status-manager';
import { createVirtualNodes, type PodProvider } from 'kubelet-status-manager/virtual-nodes';
import { undeclaredNeeds } from '../../src/virtual-nodes/capabilities/undeclared-needs.ts';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

const probe = { tcpSocket: { port: 80 } };
const probed: Partial<PodSpec> = { containers: [{ name: 'app', image: 'app:1', livenessProbe: probe }] };
const message = 'The provider does not declare probes (spec.containers[0].livenessProbe)';
const without = () => test.cloud.asProvider({ capabilities: undefined });

describe('a pod that needs what the provider does not declare', () => {
  it('fails with the reason and an Event, and is not created', async () => {
    await test.startNodes(['node-a'], { provider: without() });
    await test.create(podOf('web', probed));
    await test.advance(10_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'PodFeatureUnsupported' });
    expect(test.status('web')?.message).toContain(message);
    expect(test.podEvents()).toEqual(['web: PodFeatureUnsupported']);
    expect(test.cloud.callsOf('createPod')).toEqual([]);
  });

  it('runs with one Event if the option says so', async () => {
    await test.startNodes(['node-a'], { provider: without(), undeclared: 'warn' });
    await test.create(podOf('web', probed));
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.podEvents().filter((event) => event === 'web: PodFeatureUnsupported')).toHaveLength(1);
  });

  it('keeps running if an earlier process has started it', async () => {
    await test.startNodes();
    await test.create(podOf('web', probed));
    await test.advance(7000);
    await test.stopNodes();
    await test.startNodes(['node-a'], { provider: without() });
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.cloud.names).toEqual(['web']);
    expect(test.podEvents()).toContain('web: PodFeatureUnsupported');
  });
});

it.each<[string, Partial<PodSpec>, NonNullable<PodProvider['capabilities']>]>([
  [
    'initContainers (spec.initContainers[0])',
    { initContainers: [{ name: 'i', image: 'i' }] },
    { initContainers: true },
  ],
  [
    'sidecars (spec.initContainers[0])',
    { initContainers: [{ name: 's', image: 's', restartPolicy: 'Always' }] },
    { sidecars: true },
  ],
  ['probes (spec.containers[0].livenessProbe)', probed, { probes: 'provider' }],
  [
    'hooks (spec.containers[0].lifecycle)',
    { containers: [{ name: 'app', image: 'app:1', lifecycle: { preStop: { sleep: { seconds: 1 } } } }] },
    { hooks: true },
  ],
  [
    'restarts (spec.containers[0].restartPolicyRules)',
    {
      containers: [
        { name: 'app', image: 'app:1', restartPolicy: 'Never', restartPolicyRules: [{ action: 'Restart' }] },
      ],
    },
    { restarts: 'provider' },
  ],
  ['hostNamespaces (spec.hostNetwork)', { hostNetwork: true }, { hostNamespaces: true }],
  ['hostNamespaces (spec.hostPID)', { hostPID: true }, { hostNamespaces: true }],
  ['volumes (spec.volumes[0].emptyDir)', { volumes: [{ name: 'v', emptyDir: {} }] }, { volumes: ['emptyDir'] }],
])('%s is found, unless it is declared', (needed, spec, capabilities) => {
  const { spec: complete } = podOf('web', spec);
  const pod = { metadata: { uid: 'u', name: 'web', namespace: 'default' }, spec: complete };
  expect(undeclaredNeeds(pod, {})).toEqual([needed]);
  expect(undeclaredNeeds(pod, capabilities)).toEqual([]);
});

it('a pod that any cloud can run needs nothing', () => {
  const { spec } = podOf('web', {
    hostNetwork: false,
    volumes: [{ name: 'c', configMap: { name: 'c' } }],
  });
  expect(undeclaredNeeds({ metadata: { uid: 'u', name: 'web', namespace: 'default' }, spec }, {})).toEqual([]);
});

it.each([
  ['provider.capabilities.probes', { probes: true }],
  ['provider.capabilities.volumes', { volumes: 'emptyDir' }],
  ['provider.capabilities.init', { init: true }],
])('%s is refused by name', (path, capabilities) => {
  const provider = test.cloud.asProvider({ capabilities: capabilities as never });
  expect(() => createVirtualNodes({ client: test.server.client(), provider })).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', path }) as StatusManagerError,
  );
});
