import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PodSpec, PodStatus } from 'kubelet-status-manager';
import type { ProviderContainer, ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { expectConsistent } from '../support/consistent-status.ts';
import { podOf, TestNodes } from './test-nodes.ts';

const names = ['init', 'sidecar', 'app', 'other'] as const;
const optional = <Value>(arbitrary: fc.Arbitrary<Value>) => fc.option(arbitrary, { nil: undefined });

const containerArbitrary = fc.record({
  ready: optional(fc.boolean()),
  started: optional(fc.boolean()),
  restartCount: optional(fc.nat(2)),
  exit: optional(fc.record({ exitCode: fc.constantFrom(0, 1) })),
  waiting: optional(fc.constant({ reason: 'CrashLoopBackOff' })),
});
/** What the cloud reports of a pod at one moment. */
const reportArbitrary = fc.record<Pick<ProviderPod, 'state' | 'containers'>>({
  state: fc.constantFrom('creating', 'running', 'running', 'running', 'stopped'),
  containers: optional(
    fc
      .tuple(...names.map((name) => optional(containerArbitrary.map((container) => ({ name, ...container })))))
      .map((containers): ProviderContainer[] => containers.filter((container) => container !== undefined)),
  ),
});
const specArbitrary = fc.record<Pick<PodSpec, 'restartPolicy' | 'initContainers'>>({
  restartPolicy: fc.constantFrom('Always', 'OnFailure', 'Never'),
  initContainers: fc.constantFrom<PodSpec['initContainers'][]>(
    [],
    [
      { name: 'init', image: 'init:1' },
      { name: 'sidecar', image: 'sidecar:1', restartPolicy: 'Always' },
    ],
  ),
});

it('the conditions and the phase of each status that is set follow from its own container statuses, whatever the provider reports', async () => {
  await using test = await TestNodes.start();
  await test.startNodes(['node-a'], { provider: test.cloud.withNotifications() });
  const statuses = new Map<string, PodStatus>();
  const failures: unknown[] = [];
  test.nodes.node('node-a')!.statusManager.subscribe({
    onPodUpdated: (pod, status) => {
      const before = statuses.get(pod.metadata!.uid!);
      statuses.set(pod.metadata!.uid!, status);
      try {
        expectConsistent(pod, status, before, { staysRunning: true });
      } catch (error) {
        failures.push(error);
      }
    },
  });
  let pods = 0;
  await fc.assert(
    fc.asyncProperty(
      specArbitrary,
      fc.array(reportArbitrary, { minLength: 2, maxLength: 5 }),
      async (spec, reports) => {
        const name = `web-${pods++}`;
        const containers = ['app', 'other'].map((container) => ({ name: container, image: `${container}:1` }));
        await test.create(podOf(name, { ...spec, containers }));
        await test.advance(1500);
        for (const report of reports) {
          test.cloud.report(name, report);
          await test.settle();
        }
        expect(failures).toEqual([]);
      },
    ),
    { numRuns: 40, endOnFailure: true },
  );
});

it('a pod that runs stays Running while the cloud restarts its container', async () => {
  await using test = await TestNodes.start();
  await test.runningPod(undefined, { provider: test.cloud.withNotifications() });
  const waiting = { reason: 'CrashLoopBackOff' };
  test.cloud.report('web', { containers: [{ name: 'app', restartCount: 1, waiting }] });
  await test.advance(1000);
  expect(test.status('web')).toMatchObject({
    phase: 'Running',
    containerStatuses: [{ ready: false, restartCount: 1, lastState: {}, state: { waiting } }],
  });
  expect(test.status('web')?.containerStatuses?.[0]?.lastState).toEqual({});
});
