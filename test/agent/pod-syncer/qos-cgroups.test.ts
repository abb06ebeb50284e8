import { expect, it } from 'vitest';
import { FakeClock, FakeContainerRuntime, silentLogger } from 'kubelet-status-manager/testing';
import { QOSCgroups } from '../../../src/agent/pod-syncer/qos-cgroups.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';
import { asBounded } from '../../support/as-bounded.ts';

const podOf = (name: string): ValidPod => ({ metadata: { name, namespace: 'default', uid: name } });
const clock = new FakeClock('2026-01-02T03:04:05Z');

it('updates one after the other, each with the pods that are active when it begins', async () => {
  const steps: string[] = [];
  const finish: (() => void)[] = [];
  let pods = [podOf('a')];
  const runtime = Object.assign(new FakeContainerRuntime({ clock }), {
    updateQOSCgroups: (active: readonly ValidPod[]) => {
      steps.push(active.map(({ metadata }) => metadata.name).join());
      return new Promise<void>((resolve) => finish.push(resolve));
    },
  });
  const qosCgroups = new QOSCgroups({
    runtime: asBounded(runtime),
    getActivePods: () => pods,
    clock,
    logger: silentLogger,
  });
  const updates = [qosCgroups.update(), qosCgroups.update()];
  await new Promise(setImmediate);
  pods = [podOf('a'), podOf('b')];
  expect(steps).toEqual(['a']);
  finish[0]!();
  await updates[0];
  await new Promise(setImmediate);
  expect(steps).toEqual(['a', 'a,b']);
  finish[1]!();
  await updates[1];
});

it('a failure is logged once, and so is the recovery', async () => {
  const logged: string[] = [];
  const log = ({ reason }: { readonly reason?: string }, message: string) => logged.push(`${message}: ${reason}`);
  const logger = { ...silentLogger, info: log, warn: log };
  let error: Error | undefined = new Error('SetUnitProperties of kubepods.slice: no bus');
  const runtime = Object.assign(new FakeContainerRuntime({ clock }), {
    updateQOSCgroups: () => (error === undefined ? Promise.resolve() : Promise.reject(error)),
  });
  const qosCgroups = new QOSCgroups({ runtime: asBounded(runtime), getActivePods: () => [], clock, logger });
  for (let i = 0; i < 3; i++) await qosCgroups.update();
  error = undefined;
  await qosCgroups.update();
  expect(logged).toEqual([
    'Updating the cgroups of the QoS classes failed: SetUnitProperties of kubepods.slice: no bus',
    'Updating the cgroups of the QoS classes succeeded again: undefined',
  ]);
});
