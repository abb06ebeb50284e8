import { beforeAll, describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { expectFailure, expectOk, PODS_PATH, uniqueName } from '../pod-api.ts';
import type { ContractServer } from '../servers.ts';

/** The Accept header of kubectl. */
const asTable = { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' } };

/** Responses in the form of a `Table`, which is what `kubectl get` prints. */
export function describeTables(server: () => ContractServer): void {
  describe('Tables', () => {
    const columnsOf = (table: Json): Json[] =>
      table.columnDefinitions.map(({ name, type, format, priority }: Json) => [name, type, format, priority]);
    let name: string;
    beforeAll(async () => {
      name = uniqueName('table');
      await server().pods.create(name, { metadata: { labels: { run: name } } });
      await server().pods.patchStatus(name, { phase: 'Running', podIP: '10.0.0.9' });
    });
    const one = async (podName: string): Promise<string[]> =>
      expectOk(await server().pods.get(podName, asTable)).rows[0].cells as string[];

    it("have the pods' columns, the wide ones with priority 1", async () => {
      const table = expectOk(await server().http.request('GET', `${PODS_PATH}?labelSelector=run%3D${name}`, asTable));
      expect(table).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
      expect(table.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(columnsOf(table)).toEqual([
        ['Name', 'string', 'name', 0],
        ['Ready', 'string', '', 0],
        ['Status', 'string', '', 0],
        ['Restarts', 'string', '', 0],
        ['Age', 'string', '', 0],
        ['IP', 'string', '', 1],
        ['Node', 'string', '', 1],
        ['Nominated Node', 'string', '', 1],
        ['Readiness Gates', 'string', '', 1],
      ]);
      expect(table.rows).toHaveLength(1);
      const [{ cells, object }] = table.rows;
      expect(cells[4]).toMatch(/^\d+s$/);
      expect(cells.toSpliced(4, 1)).toEqual([name, '0/1', 'Running', '0', '10.0.0.9', 'node-a', '<none>', '<none>']);
      expect(object).toMatchObject({
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: { name, namespace: 'default', labels: { run: name } },
      });
      expect(object).not.toHaveProperty('spec');
    });

    it.for([
      ['None', null],
      ['Object', 'Pod'],
    ] as const)('contain the objects that includeObject=%s requests', async ([includeObject, kind]) => {
      const table = expectOk(await server().pods.get(`${name}?includeObject=${includeObject}`, asTable));
      expect(table.rows[0].object?.kind ?? null).toBe(kind);
    });

    const waiting = (reason: string): Json => [{ name: 'c', state: { waiting: { reason } }, restartCount: 3 }];
    const initDone = { name: 'i1', state: { terminated: { exitCode: 0 } } };
    it.for<[Json, string, string, string]>([
      [{ containerStatuses: waiting('CrashLoopBackOff') }, '0/1', 'CrashLoopBackOff', '3'],
      [{ containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 2 } } }] }, '0/1', 'ExitCode:2', '0'],
      [
        { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 0, signal: 9 } } }] },
        '0/1',
        'Signal:9',
        '0',
      ],
      [
        { containerStatuses: [{ name: 'c', state: { terminated: { exitCode: 0, reason: 'Completed' } } }] },
        '0/1',
        'Completed',
        '0',
      ],
      [{ phase: 'Failed', reason: 'Evicted' }, '0/1', 'Evicted', '0'],
      [
        { phase: 'Running', containerStatuses: [{ name: 'c', ready: true, state: { running: {} } }] },
        '1/1',
        'Running',
        '0',
      ],
      [{ initContainerStatuses: [initDone, { name: 'i2', state: { running: {} } }] }, '0/1', 'Init:1/2', '0'],
      [
        { initContainerStatuses: [initDone, { name: 'i2', state: { waiting: { reason: 'CrashLoopBackOff' } } }] },
        '0/1',
        'Init:CrashLoopBackOff',
        '0',
      ],
      [
        { initContainerStatuses: [initDone, { name: 'i2', state: { terminated: { exitCode: 3, reason: 'Error' } } }] },
        '0/1',
        'Init:Error',
        '0',
      ],
    ])('show %j as %s %s %s', async ([status, ready, shown, restarts]) => {
      const podName = uniqueName('table');
      const initContainers = ['i1', 'i2'].map((container) => ({ name: container, image: 'i' }));
      const spec = 'initContainerStatuses' in (status as object) ? { initContainers } : {};
      await server().pods.create(podName, { spec });
      await server().pods.patchStatus(podName, status);
      expect((await one(podName)).slice(1, 4)).toEqual([ready, shown, restarts]);
    });

    it('show a pod with a deletionTimestamp as Terminating, and met readiness gates', async () => {
      const podName = uniqueName('table');
      await server().pods.create(podName, { spec: { readinessGates: [{ conditionType: 'example.com/gate' }] } });
      expect((await one(podName))[8]).toBe('0/1');
      await server().pods.patchStatus(podName, { conditions: [{ type: 'example.com/gate', status: 'True' }] });
      expect((await one(podName))[8]).toBe('1/1');
      await server().pods.delete(podName);
      expect((await one(podName))[2]).toBe('Terminating');
    });

    it("have the nodes' columns", async () => {
      const table = expectOk(await server().http.request('GET', '/api/v1/nodes/node-b', asTable));
      expect(columnsOf(table)).toEqual([
        ['Name', 'string', 'name', 0],
        ['Status', 'string', '', 0],
        ['Roles', 'string', '', 0],
        ['Age', 'string', '', 0],
        ['Version', 'string', '', 0],
        ['Internal-IP', 'string', '', 1],
        ['External-IP', 'string', '', 1],
        ['OS-Image', 'string', '', 1],
        ['Kernel-Version', 'string', '', 1],
        ['Container-Runtime', 'string', '', 1],
      ]);
      const { cells } = table.rows[0];
      expect(cells.toSpliced(3, 1)).toEqual([
        'node-b',
        'Unknown',
        '<none>',
        '',
        '<none>',
        '<none>',
        '<unknown>',
        '<unknown>',
        '<unknown>',
      ]);
    });

    it('are also sent on a watch, with the columns in the first event only', async () => {
      const query = `watch=true&timeoutSeconds=5&fieldSelector=metadata.name%3D${name}`;
      const events = await server().http.watch(`${PODS_PATH}?${query}`, asTable);
      const first = await events.next();
      expect(first.value).toMatchObject({ type: 'ADDED', object: { kind: 'Table' } });
      expect(first.value?.object.rows[0].cells[0]).toBe(name);
      expect(columnsOf(first.value?.object)[2]).toEqual(['Status', 'string', '', 0]);
      await server().pods.patchStatus(name, { message: 'changed' });
      const second = await events.next();
      expect(second.value).toMatchObject({ type: 'MODIFIED', object: { kind: 'Table', columnDefinitions: null } });
      events.close();
    });

    it('are not sent for failures, which are a Status', async () => {
      expectFailure(await server().pods.get(uniqueName('missing'), asTable), 404, 'NotFound');
    });

    it('are one of the supported forms; others get 406', async () => {
      const response = await server().http.request('GET', PODS_PATH, { headers: { accept: 'application/frob' } });
      expectFailure(response, 406, 'NotAcceptable');
    });
  });
}
