import { expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { generateAPIPodStatus } from 'kubelet-status-manager';
import { TestAgent } from './test-agent.ts';

// Faults of the kubelet that are kept: docs/parity.md.

const running = { running: { startedAt: '2026-01-02T03:04:05Z' } };

function podOf(spec: Partial<ValidPod['spec']> = {}): ValidPod {
  return {
    metadata: { name: 'web', namespace: 'ns', uid: 'uid-1' },
    spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
  };
}

it('#119956: a pod that runs keeps the reason that it had while it was Pending, until the API server shows it as Running', () => {
  const pod = { ...podOf(), status: { phase: 'Pending', reason: 'SoftAdmission', message: 'wait' } };
  const containerStatuses = [
    { name: 'app', ready: true, restartCount: 0, image: 'app:1', imageID: '', state: running },
  ];
  const first = generateAPIPodStatus(pod, { containerStatuses, previous: pod.status });
  expect(first).toMatchObject({ phase: 'Running' });
  expect(first.reason).toBeUndefined();
  const second = generateAPIPodStatus(pod, { containerStatuses, previous: first });
  expect(second).toMatchObject({ phase: 'Running', reason: 'SoftAdmission', message: 'wait' });
});

it('#85966: the address of a pod is written when its postStart hooks have ended', async () => {
  const agent = new TestAgent();
  let end = (): void => {};
  agent.runtime.onExec(() => new Promise((resolve) => (end = () => resolve({ exitCode: 0, stdout: '', stderr: '' }))));
  const lifecycle = { postStart: { exec: { command: ['warm', 'up'] } } };
  await agent.create(podOf({ containers: [{ name: 'app', image: 'app:1', lifecycle }] }));
  await agent.advance(60_000);
  const podIP = (): string | undefined => agent.client.pod('ns', 'web')?.status?.podIP ?? undefined;
  expect(podIP()).toBeUndefined();
  end();
  await agent.advance(5_000);
  expect(podIP()).toBe('10.0.0.1');
});
