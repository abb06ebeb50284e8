import { describe, expect, it } from 'vitest';
import type { PodStatusPatch } from '../../src/kube/client/pod-client.ts';
import { FakePodClient } from '../../src/testing/fake-pod-client.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { deepFreeze } from '../support/arbitraries.ts';

const reference = { namespace: 'ns', name: 'p' };
const pod: Pod = deepFreeze({
  metadata: { uid: 'u', ...reference },
  status: { phase: 'Pending', message: 'm' },
});

function options(signal: AbortSignal = new AbortController().signal): { signal: AbortSignal } {
  return { signal };
}

function merge(status: object | undefined, uid = 'u'): PodStatusPatch {
  return {
    type: 'application/strategic-merge-patch+json',
    body: { metadata: { uid }, ...(status !== undefined && { status }) } as never,
  };
}

describe('FakePodClient', () => {
  it('responds with the stored pod', async () => {
    const client = new FakePodClient([pod]);
    expect(await client.getPod(reference, options())).toEqual(pod);
    expect([...client.pods.keys()]).toEqual(['ns/p']);
    client.remove('ns', 'p');
    expect(client.pod('ns', 'p')).toBeUndefined();
  });

  it('applies a strategic merge patch, and mutates neither pod nor patch', async () => {
    const client = new FakePodClient([pod]);
    const patch = deepFreeze(merge({ phase: 'Running', message: null }));
    const patched = await client.patchPodStatus(reference, patch, options());
    expect(patched).toEqual({ ...pod, status: { phase: 'Running' } });
    expect(client.pod('ns', 'p')).toBe(patched);
    expect(await client.patchPodStatus(reference, merge(undefined), options())).toEqual(patched);
  });

  it('applies a JSON patch, or fails with 422', async () => {
    const client = new FakePodClient([pod]);
    const operations = [
      { op: 'test', path: '/metadata/uid', value: 'u' },
      { op: 'replace', path: '/status/phase', value: 'Running' },
    ] as const;
    const patch: PodStatusPatch = deepFreeze({ type: 'application/json-patch+json', body: [...operations] });
    expect((await client.patchPodStatus(reference, patch, options())).status?.phase).toBe('Running');
    const failing: PodStatusPatch = {
      type: 'application/json-patch+json',
      body: [{ op: 'test', path: '/metadata/uid', value: 'other' }],
    };
    await expect(client.patchPodStatus(reference, failing, options())).rejects.toMatchObject({
      statusCode: 422,
      reason: 'Invalid',
    });
  });

  it('does not share an object that a JSON patch has in two places', async () => {
    const client = new FakePodClient([pod]);
    const none = {};
    const patch = (op: 'add', path: string, value: unknown): PodStatusPatch => ({
      type: 'application/json-patch+json',
      body: [{ op, path, value }],
    });
    const containers = [{ lastState: none }, { lastState: none }];
    await client.patchPodStatus(reference, patch('add', '/status/containerStatuses', containers), options());
    const waiting = patch('add', '/status/containerStatuses/0/lastState/waiting', {});
    const { status } = await client.patchPodStatus(reference, waiting, options());
    expect(status?.containerStatuses).toEqual([{ lastState: { waiting: {} } }, { lastState: {} }]);
  });

  it('fails with 404 for an unknown name; for another UID with 422 and its cause, or 409 at DELETE', async () => {
    const client = new FakePodClient([pod]);
    const unknown = { namespace: 'ns', name: 'q' };
    const deletion = { uid: 'u', gracePeriodSeconds: 0 };
    await expect(client.getPod(unknown, options())).rejects.toMatchObject({ statusCode: 404, reason: 'NotFound' });
    await expect(client.patchPodStatus(unknown, merge({}), options())).rejects.toMatchObject({ statusCode: 404 });
    await expect(client.deletePod(unknown, deletion, options())).rejects.toMatchObject({ statusCode: 404 });
    await expect(client.patchPodStatus(reference, merge({}, 'other'), options())).rejects.toMatchObject({
      statusCode: 422,
      causes: [{ reason: 'FieldValueInvalid', field: 'metadata.uid' }],
    });
    await expect(client.deletePod(reference, { ...deletion, uid: 'other' }, options())).rejects.toMatchObject({
      statusCode: 409,
    });
    expect(client.pod('ns', 'p')).toEqual(pod);
  });

  it('deletes a pod, but keeps one with finalizers', async () => {
    const kept: Pod = { metadata: { ...pod.metadata, name: 'kept', finalizers: ['example.com/keep'] } };
    const client = new FakePodClient([pod, kept]);
    await client.deletePod(reference, { uid: 'u', gracePeriodSeconds: 0 }, options());
    await client.deletePod({ namespace: 'ns', name: 'kept' }, { uid: 'u', gracePeriodSeconds: 0 }, options());
    expect([...client.pods.keys()]).toEqual(['ns/kept']);
  });

  it('records every request in order, including failed ones', async () => {
    const client = new FakePodClient([pod]);
    client.fail({ verb: 'get' }, 500);
    await expect(client.getPod(reference, options())).rejects.toMatchObject({ statusCode: 500 });
    const patch = merge({ phase: 'Running' });
    await client.patchPodStatus(reference, patch, options());
    const preconditions = { uid: 'u', gracePeriodSeconds: 0 };
    await client.deletePod(reference, preconditions, options());
    expect(client.actions).toEqual([
      { verb: 'get', ...reference },
      { verb: 'patch', ...reference, patch },
      { verb: 'delete', ...reference, preconditions },
    ]);
    expect(client.actionsOf({ verb: 'patch', name: 'p' })).toHaveLength(1);
    expect(client.actionsOf({ namespace: 'other' })).toEqual([]);
  });

  it('fails the next matching requests, up to the count, with a code or an error', async () => {
    const client = new FakePodClient([pod]);
    const error = new Error('broken');
    client.fail({ verb: 'get', namespace: 'ns', name: 'p' }, error, 2);
    client.fail({ name: 'other' }, 500);
    await expect(client.getPod(reference, options())).rejects.toBe(error);
    await client.patchPodStatus(reference, merge({}), options());
    await expect(client.getPod(reference, options())).rejects.toBe(error);
    expect(await client.getPod(reference, options())).toMatchObject({ metadata: { uid: 'u' } });
  });

  it('holds requests until they are released', async () => {
    const client = new FakePodClient([pod]);
    const release = client.hold({ verb: 'get' });
    let hasResponse = false;
    const response = client.getPod(reference, options()).then(() => (hasResponse = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasResponse).toBe(false);
    expect(client.actions).toHaveLength(1);
    release();
    await response;
    await client.getPod(reference, options());
  });

  it('rejects a held request, and one that comes with an aborted signal, with the signal’s reason', async () => {
    const client = new FakePodClient([pod]);
    const reason = new Error('enough');
    client.hold({ verb: 'get' }, 1);
    const controller = new AbortController();
    const held = client.getPod(reference, options(controller.signal));
    controller.abort(reason);
    await expect(held).rejects.toBe(reason);
    await expect(client.patchPodStatus(reference, merge({ phase: 'x' }), options(controller.signal))).rejects.toBe(
      reason,
    );
    expect(client.pod('ns', 'p')).toEqual(pod);
    // One that is aborted before it is held does not hang.
    client.hold({ verb: 'get' }, 1);
    await expect(client.getPod(reference, options(controller.signal))).rejects.toBe(reason);
  });

  it('put copies the given object', async () => {
    const startTime = new Date('2026-01-02T03:04:05Z');
    const mine = { metadata: { ...reference, uid: 'u' }, status: { message: 'before', startTime, reason: undefined } };
    const client = new FakePodClient([mine]);
    mine.status.message = 'after';
    const stored = await client.getPod(reference, options());
    expect(stored).toStrictEqual({
      metadata: { ...reference, uid: 'u' },
      status: { message: 'before', startTime: '2026-01-02T03:04:05.000Z' },
    });
    expect(() => Object.assign(stored.status!, { message: 'by a user' })).toThrow(TypeError);
  });

  it('a reaction supplies the response, and the request is not processed', async () => {
    const client = new FakePodClient([pod]);
    const response = { metadata: { ...reference, uid: 'u' }, status: { message: 'supplied' } };
    client.react({ verb: 'patch' }, () => ({ response }));
    expect(await client.patchPodStatus(reference, merge({ message: 'new' }), options())).toBe(response);
    client.react({ verb: 'delete' }, async () => ({ response }));
    await client.deletePod(reference, { uid: 'u', gracePeriodSeconds: 0 }, options());
    expect(client.pod('ns', 'p')).toEqual(pod);
  });

  it('the status of a recorded patch type-checks without telling the patch types apart', async () => {
    const client = new FakePodClient([pod]);
    await client.patchPodStatus(reference, merge({ message: 'new' }), options());
    await client.patchPodStatus(reference, { type: 'application/json-patch+json', body: [] }, options());
    expect(client.actions.map(({ patch }) => patch?.body.status?.message)).toEqual(['new', undefined]);
    expect(client.actions.map(({ patch }) => patch?.body.metadata?.uid)).toEqual(['u', undefined]);
  });

  it('notifies subscribers of every change until they unsubscribe', async () => {
    const client = new FakePodClient();
    const events: string[] = [];
    const unsubscribe = client.subscribe(({ type, pod: { status } }) => events.push(`${type} ${status?.message}`));
    client.put(pod);
    await client.patchPodStatus(reference, merge({ message: 'new' }), options());
    await client.deletePod(reference, { uid: 'u', gracePeriodSeconds: 0 }, options());
    client.remove('ns', 'p');
    unsubscribe();
    client.put(pod);
    expect(events).toEqual(['ADDED m', 'MODIFIED new', 'DELETED new']);
  });

  it('runs reactions before the request is processed, and the functions that they return after it', async () => {
    const client = new FakePodClient([pod]);
    const newer = { ...pod, metadata: { ...pod.metadata, uid: 'newer' } };
    client.react({ verb: 'get' }, () => () => client.put(newer));
    expect((await client.getPod(reference, options())).metadata?.uid).toBe('u');
    expect((await client.getPod(reference, options())).metadata?.uid).toBe('newer');
  });
});
