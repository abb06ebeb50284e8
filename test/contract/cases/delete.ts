import { describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { expectFailure, expectOk, MERGE_PATCH, uniqueName } from '../pod-api.ts';
import type { ContractServer, ContractServerKind } from '../servers.ts';

/** DELETE of a pod: grace periods, finalizers, preconditions. */
export function describeDelete(server: () => ContractServer, { isAsNewest }: ContractServerKind): void {
  const finalizers = ['example.com/hold'];

  async function create(overrides: { metadata?: Json; spec?: Json } = {}): Promise<{ name: string; pod: Json }> {
    const name = uniqueName('delete');
    return { name, pod: await server().pods.create(name, overrides) };
  }

  async function expectGone(name: string): Promise<void> {
    expectFailure(await server().pods.get(name), 404, 'NotFound', { details: { name, kind: 'pods' } });
  }

  describe('DELETE', () => {
    it("sets deletionTimestamp to the end of the pod's grace period and raises the generation", async () => {
      const { name } = await create();
      const before = Math.floor(Date.now() / 1000);
      const { metadata } = expectOk(await server().pods.delete(name));
      expect(metadata).toMatchObject({
        deletionGracePeriodSeconds: 30,
        ...(isAsNewest('pod-generation') && { generation: 2 }),
      });
      const endsAt = Date.parse(metadata.deletionTimestamp as string) / 1000;
      expect(endsAt).toBeGreaterThanOrEqual(before + 30);
      expect(endsAt).toBeLessThan(before + 60);
      expect((await server().pods.get(name)).body.metadata).toEqual(metadata);
    });

    it('keeps a running grace period when requested again or with a longer one; a shorter one shortens it', async () => {
      const { name } = await create();
      const first = expectOk(await server().pods.delete(name));
      expect(expectOk(await server().pods.delete(name))).toEqual(first);
      expect(expectOk(await server().pods.delete(name, { gracePeriodSeconds: 60 }))).toEqual(first);
      const { metadata } = expectOk(await server().pods.delete(name, { gracePeriodSeconds: 5 }));
      expect(metadata.deletionGracePeriodSeconds).toBe(5);
      expect(Date.parse(metadata.deletionTimestamp as string)).toBeLessThan(
        Date.parse(first.metadata.deletionTimestamp as string),
      );
      expect(metadata.resourceVersion).not.toBe(first.metadata.resourceVersion);
    });

    it('accepts the grace period in the query, too', async () => {
      const { name } = await create();
      const { metadata } = expectOk(await server().pods.delete(`${name}?gracePeriodSeconds=7`));
      expect(metadata.deletionGracePeriodSeconds).toBe(7);
    });

    it('accepts a patch of the pod in its grace period, which a terminal phase does not end', async () => {
      const { name } = await create();
      await server().pods.delete(name);
      expectOk(await server().pods.patchStatus(name, { phase: 'Failed' }));
      expect(expectOk(await server().pods.delete(name)).metadata.deletionGracePeriodSeconds).toBe(30);
      expectOk(await server().pods.get(name));
      expect(expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }))).toMatchObject({
        kind: 'Pod',
        metadata: { deletionGracePeriodSeconds: 0 },
        status: { phase: 'Failed' },
      });
      await expectGone(name);
    });

    it.for(['Succeeded', 'Failed'])('removes a pod that is %s immediately', async (phase) => {
      const { name } = await create();
      await server().pods.patchStatus(name, { phase });
      expect(expectOk(await server().pods.delete(name))).toMatchObject({
        kind: 'Pod',
        metadata: { name, deletionGracePeriodSeconds: 0 },
        status: { phase },
      });
      await expectGone(name);
    });

    it.for<[string, Json]>([
      ['bound to no node', { nodeName: undefined }],
      ['without a grace period', { terminationGracePeriodSeconds: 0 }],
    ])('removes a pod %s immediately', async ([, spec]) => {
      const { name } = await create({ spec });
      expectOk(await server().pods.delete(name));
      await expectGone(name);
    });

    it('removes a running pod immediately with grace period 0', async () => {
      const { name } = await create();
      await server().pods.patchStatus(name, { phase: 'Running' });
      expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }));
      await expectGone(name);
    });

    it('treats a negative grace period as one second', async () => {
      const { name } = await create();
      const { metadata } = expectOk(await server().pods.delete(name, { gracePeriodSeconds: -1 }));
      expect(metadata.deletionGracePeriodSeconds).toBe(1);
    });

    it('treats a negative grace period as one second also while another one runs', async () => {
      const { name } = await create();
      const first = expectOk(await server().pods.delete(name, { gracePeriodSeconds: 31 }));
      const second = expectOk(await server().pods.delete(name, { gracePeriodSeconds: -5 }));
      expect(second.metadata.deletionGracePeriodSeconds).toBe(1);
      const shortenedMs =
        Date.parse(first.metadata.deletionTimestamp as string) -
        Date.parse(second.metadata.deletionTimestamp as string);
      expect(shortenedMs).toBe(30_000);
      expect(expectOk(await server().pods.delete(name, { gracePeriodSeconds: -1 }))).toEqual(second);
    });

    it('rejects a name that does not exist with 404', async () => {
      const name = uniqueName('missing');
      expectFailure(await server().pods.delete(name), 404, 'NotFound', { details: { name, kind: 'pods' } });
    });

    it.for<[string, Json]>([
      ['uid', { uid: 'other' }],
      ['resourceVersion', { resourceVersion: '1' }],
    ])('rejects a wrong %s precondition with 409', async ([, preconditions]) => {
      const { name, pod } = await create();
      const response = await server().pods.delete(name, { gracePeriodSeconds: 0, preconditions });
      expectFailure(response, 409, 'Conflict', { details: { name, kind: 'Pod' } });
      expect((await server().pods.get(name)).body).toEqual(pod);
    });

    it('accepts the right uid, and a recreated pod has another one', async () => {
      const { name, pod } = await create();
      const preconditions = { uid: pod.metadata.uid };
      expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0, preconditions }));
      const recreated = await server().pods.create(name);
      expect(recreated.metadata.uid).not.toBe(pod.metadata.uid);
      expectFailure(await server().pods.delete(name, { preconditions }), 409, 'Conflict');
    });
  });

  describe('finalizers', () => {
    it('keep the object: a second DELETE and a later PATCH still succeed', async () => {
      const { name } = await create({ metadata: { finalizers } });
      const first = expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }));
      expect(first.metadata).toMatchObject({ finalizers, deletionGracePeriodSeconds: 0 });
      expect(first.metadata.deletionTimestamp).toBeTypeOf('string');
      expect(expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }))).toEqual(first);
      expect(expectOk(await server().pods.patchStatus(name, { phase: 'Failed' })).status.phase).toBe('Failed');
      expect(expectOk(await server().pods.get(name)).metadata.finalizers).toEqual(finalizers);
    });

    it('keep an expired grace period when a negative one is requested', async () => {
      const { name } = await create({ metadata: { finalizers } });
      const first = expectOk(await server().pods.delete(name, { gracePeriodSeconds: 0 }));
      expect(expectOk(await server().pods.delete(name, { gracePeriodSeconds: -1 }))).toEqual(first);
    });

    it('the response to the removal after the grace period contains the last state of the object', async () => {
      const { name } = await create({ metadata: { finalizers } });
      await server().pods.delete(name, { gracePeriodSeconds: 0 });
      const response = await server().pods.patch(name, { metadata: { finalizers: null } }, MERGE_PATCH);
      expect(expectOk(response).metadata).not.toHaveProperty('finalizers');
      await expectGone(name);
    });

    it('an object whose finalizers are removed within the grace period stays', async () => {
      const { name } = await create({ metadata: { finalizers } });
      await server().pods.delete(name);
      expectOk(await server().pods.patch(name, { metadata: { finalizers: null } }, MERGE_PATCH));
      expect(expectOk(await server().pods.get(name)).metadata.deletionGracePeriodSeconds).toBe(30);
    });

    it('keep a terminal pod, and its grace period is reduced to 0', async () => {
      const { name } = await create({ metadata: { finalizers } });
      await server().pods.patchStatus(name, { phase: 'Succeeded' });
      expect(expectOk(await server().pods.delete(name)).metadata.deletionGracePeriodSeconds).toBe(0);
      expectOk(await server().pods.get(name));
    });
  });
}
