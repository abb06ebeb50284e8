import { expect, it } from 'vitest';
import { podOf, TestNodes } from './test-nodes.ts';

it('a condition of another writer with values that the API does not check keeps no pod from being deleted', async () => {
  await using test = await TestNodes.start();
  await test.startNodes();
  await test.create(podOf('web'));
  await test.advance(7000);
  const gate = { type: 'example.com/gate', status: 'true' };
  test.server.pods.patchStatus('default', 'web', { status: { conditions: [gate] } });
  await test.advance(7000);
  test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
  await test.advance(20_000);
  expect(test.cloud.calls.filter((call) => call !== 'listPods')).toEqual(['createPod web', 'deletePod web']);
  expect(test.pod('web')).toBeUndefined();
  expect(test.logger.errors).toEqual([]);
});

it('a container status with two last states, as kubelets write them, keeps no pod from being run and deleted', async () => {
  await using test = await TestNodes.start();
  await test.startNodes();
  await test.create(podOf('web'));
  await test.nodes.stop();
  const waiting = { reason: 'CrashLoopBackOff' };
  const container = { name: 'app', image: 'app:1', imageID: '', ready: false, restartCount: 1 };
  const lastState = { waiting, terminated: { exitCode: 137 } };
  const containerStatuses = [{ ...container, state: { waiting }, lastState }];
  test.server.pods.patchStatus('default', 'web', { status: { phase: 'Pending', containerStatuses } });
  await test.startNodes();
  await test.advance(7000);
  expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ state: { running: {} } }] });
  test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
  await test.advance(20_000);
  expect(test.pod('web')).toBeUndefined();
  expect(test.logger.errors).toEqual([]);
});
