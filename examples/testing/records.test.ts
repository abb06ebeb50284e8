// Requests, log lines and metrics are recorded.
import { expect, it } from 'vitest';
import { type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, fault, recordingLogger, RecordingMetrics } from 'kubelet-status-manager/testing';

const pod: Pod = { metadata: { namespace: 'default', name: 'web', uid: 'web-1' }, spec: {} };

it('logs and counts what went wrong', async () => {
  const clock = new FakeClock();
  const logger = recordingLogger();
  const metrics = new RecordingMetrics();
  const client = new FakePodClient([pod], { clock });
  const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, clock, logger, metrics });
  manager.start();
  client.faults.next({ verb: 'patch' }, fault.status(422, { message: 'the status is invalid' }));
  manager.setPodStatus(pod, { phase: 'Running' });
  await clock.advanceAsync(0);

  expect(metrics.requests).toEqual(['get ok', 'patch Invalid']);
  expect(logger.warnings).toMatchObject([{ fields: { podUID: 'web-1' } }]);
  expect(client.actions.map(({ verb }) => verb)).toEqual(['get', 'patch']);
  expect(client.actions[1]?.patch?.body.status?.phase).toBe('Running');
  expect(client.faults.used.map(({ request }) => `${request.verb} ${request.name}`)).toEqual(['patch web']);
  await manager.stop();
});
