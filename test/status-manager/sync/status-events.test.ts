import { describe, expect, expectTypeOf, it } from 'vitest';
import type { EventRecorder } from 'kubelet-status-manager/agent';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { StatusEventRecorder, PodStatusEvent } from '../../../src/status-manager/index.ts';
import { podOf, SyncHarness, uidOf } from './sync-harness.ts';

const always = Number.POSITIVE_INFINITY;
const deletionTimestamp = '2026-01-02T03:04:05Z';

function httpError(statusCode: number, message: string): APIError {
  return new APIError(message, { kind: 'http', statusCode });
}

class Recorder implements StatusEventRecorder {
  readonly events: PodStatusEvent[] = [];

  event(event: PodStatusEvent): void {
    this.events.push(event);
  }

  /** `name reason: message` since the last call. */
  take(): string[] {
    return this.events
      .splice(0)
      .map(({ pod, type, reason, message }) => `${type} ${pod.metadata?.name} ${reason}: ${message}`);
  }
}

function setup(options: ConstructorParameters<typeof SyncHarness>[0] = {}) {
  const recorder = new Recorder();
  const h = new SyncHarness({ eventRecorder: recorder, ...options });
  return { h, recorder };
}

describe('Events about what a user of the pod must know', () => {
  it('a refused status: one for all tries, also of newer versions; again after one was written', async () => {
    const { h, recorder } = setup();
    const [pod] = h.addPods('a');
    h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid: status.phase'), 8);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(600_000);
    h.set('a', '2');
    await h.clock.advanceAsync(3_600_000);
    expect(recorder.events).toMatchObject([{ pod, type: 'Warning' }]);
    expect(recorder.take()).toEqual([
      'Warning a FailedStatusUpdate: The API server refuses the pod status: 422 Invalid: status.phase',
    ]);
    expect(h.written('a')).toBe('2');
    h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid: again'), 3);
    h.set('a', '3');
    await h.clock.advanceAsync(60_000);
    expect(recorder.take()).toEqual([
      'Warning a FailedStatusUpdate: The API server refuses the pod status: 422 Invalid: again',
    ]);
    await h.manager.stop();
  });

  it('403: none while it may be a role that comes late, one after 30 s', async () => {
    const { h, recorder } = setup();
    h.addPods('a');
    h.client.fail({}, httpError(403, '403 Forbidden: pods "a"'), always);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(20_000);
    expect(recorder.take()).toEqual([]);
    await h.clock.advanceAsync(3_600_000);
    expect(recorder.take()).toEqual([
      'Warning a FailedStatusUpdate: The node is not permitted to read or update the pod status: 403 Forbidden: pods "a"',
    ]);
    await h.manager.stop();
  });

  it.each([
    ['one of these managers', [{ manager: 'kube-foo', fieldsV1: { 'f:status': { 'f:message': {} } } }], 'kube-foo'],
    [
      'two of them',
      ['kube-foo', 'webhook'].map((manager) => ({ manager, fieldsV1: { 'f:status': { 'f:message': {} } } })),
      'kube-foo, webhook',
    ],
    ['nobody that is known', undefined, 'the API server or another writer'],
  ])('a hot loop by %s: one for the pod, also for later versions', async (_who, managedFields, by) => {
    const { h, recorder } = setup();
    h.addPods('a');
    h.client.react(
      { verb: 'patch' },
      ({ namespace, name }) =>
        () => {
          const pod = h.client.pod(namespace, name)!;
          const metadata = { ...pod.metadata, ...(managedFields && { managedFields }) };
          h.client.put({ ...pod, metadata, status: { ...pod.status, message: 'old' } });
        },
      always,
    );
    h.informed();
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(600_000);
    h.set('a', '2');
    await h.clock.advanceAsync(600_000);
    expect(recorder.take()).toEqual([`Warning a StatusHotLoop: Status fields message keep being undone by ${by}`]);
    await h.manager.stop();
  });

  it('a pod that is stuck Terminating: by podDeletionSafety, by finalizers, by a refused DELETE', async () => {
    const held = setup({ podCouldHaveRunningContainers: () => true });
    const kept = setup();
    const refused = setup();
    refused.h.client.fail({ verb: 'delete' }, httpError(403, '403 Forbidden: cannot delete'), always);
    for (const { h } of [held, kept, refused]) {
      h.informed();
      h.manager.start();
      const finalizers = h === kept.h ? ['example.com/x', 'example.com/y'] : [];
      h.manager.terminatePod(h.addPod(podOf('a', { deletionTimestamp, finalizers })));
      await h.clock.advanceAsync(50_000);
    }
    expect([held.recorder.take(), kept.recorder.take()]).toEqual([[], []]);
    for (const { h } of [held, kept, refused]) await h.clock.advanceAsync(3_600_000);
    expect([held, kept, refused].map(({ recorder }) => recorder.take())).toEqual([
      ['Warning a StuckTerminating: Pod has not terminated for a minute: its containers could still be running'],
      ['Warning a StuckTerminating: Pod has terminated and waits for finalizers: example.com/x, example.com/y'],
      ['Warning a StuckTerminating: The API server refuses to delete the pod: 403 Forbidden: cannot delete'],
    ]);
    for (const { h } of [held, kept, refused]) await h.manager.stop();
  });

  it('a pod that the pod manager does not show is named by its metadata', async () => {
    const { h, recorder } = setup();
    h.client.put(podOf('a'));
    h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid'), always);
    h.manager.start();
    h.set('a', '1');
    await h.settle();
    expect(recorder.events[0]!.pod).toEqual({ metadata: { uid: uidOf('a'), namespace: 'default', name: 'a' } });
    await h.manager.stop();
  });

  it('records no Event for transient failures: an API server that is down, a conflict, a pod that is gone', async () => {
    const { h, recorder } = setup();
    h.addPods('a', 'b', 'c');
    h.client.fail({ name: 'a' }, 500, always);
    h.client.fail({ name: 'b', verb: 'patch' }, 409, always);
    h.client.fail({ name: 'c' }, 404, always);
    h.manager.start();
    for (const name of ['a', 'b', 'c']) h.set(name, '1');
    await h.clock.advanceAsync(3_600_000);
    expect(recorder.take()).toEqual([]);
    await h.manager.stop();
  });

  it('a recorder that throws is logged and has no other effect', async () => {
    const { h } = setup({
      eventRecorder: {
        event: () => {
          throw new Error('full');
        },
      },
    });
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, httpError(422, '422 Invalid'), 1);
    h.manager.start();
    h.set('a', '1');
    await h.clock.advanceAsync(60_000);
    expect(h.written('a')).toBe('1');
    const errors = h.logger.lines.filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ fields: { method: 'eventRecorder.event' } }]);
    await h.manager.stop();
  });

  it("the agent's recorder is one", () => {
    expectTypeOf<EventRecorder>().toExtend<StatusEventRecorder>();
    const eventRecorder = { event: 'no function' } as never;
    expect(() => new SyncHarness({ eventRecorder })).toThrow(/`eventRecorder.event`/);
  });
});
