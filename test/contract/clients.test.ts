import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { classifyAPIError } from '../../src/kube/client/api-error.ts';
import type { FailureClass } from '../../src/kube/client/api-error.ts';
import type { PatchType, ClosablePodClient, PodStatusPatch } from '../../src/kube/client/pod-client.ts';
import type { RequestVerb } from '../../src/kube/client/pod-client.ts';
import type { Json } from '../support/kube-http.ts';
import { type ContractClientKind, contractClients, failureOf, strategic } from './clients.ts';
import { expectFailure, uniqueName } from './pod-api.ts';
import { type ContractServer, contractServers, START_TIMEOUT_MS } from './servers.ts';

/*
 * What the sync path relies on, for every `PodClient`. Responses that no server sends on demand are
 * in scripted-clients.test.ts.
 */

const { signal } = new AbortController();

for (const { name: serverName, available, isAsNewest, start } of contractServers) {
  describe.skipIf(!available)(`on ${serverName}`, () => {
    let server: ContractServer;
    beforeAll(async () => {
      server = await start();
    }, START_TIMEOUT_MS);
    afterAll(() => server.stop());

    describe.for(contractClients)('$name', ({ create }: ContractClientKind) => {
      let client: ClosablePodClient;
      let nodeClient: ClosablePodClient;
      beforeAll(async () => {
        client = await create({ ...server, token: server.adminToken });
        nodeClient = await create({ ...server, token: server.nodeToken('node-a') });
      });
      afterAll(async () => {
        await client.close();
        await nodeClient.close();
      });

      async function createPod(
        overrides: { metadata?: Json; spec?: Json } = {},
        nodeName = 'node-a',
      ): Promise<{ ref: { namespace: string; name: string }; uid: string }> {
        const name = uniqueName('client');
        const pod = await server.pods.create(name, { spec: { nodeName }, ...overrides });
        await server.pods.untilNodeKnows(name, { token: server.nodeToken(nodeName) });
        return { ref: { namespace: 'default', name }, uid: pod.metadata.uid as string };
      }

      it('GET returns the pod as the server wrote it', async () => {
        const { ref } = await createPod();
        await server.pods.patchStatus(ref.name, {
          startTime: '2024-01-01T00:00:00Z',
          conditions: [{ type: 'Ready', status: 'True', observedGeneration: 1 }],
          containerStatuses: [
            {
              name: 'c',
              state: { running: { startedAt: '2024-01-01T00:00:01Z' } },
              allocatedResources: { cpu: '1' },
              resources: { limits: { cpu: '500m' } },
              volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: 'Enabled' }],
              user: { linux: { uid: 0, gid: 0 } },
              stopSignal: 'SIGTERM',
            },
          ],
        });
        const { body } = await server.pods.get(ref.name);
        expect(body.status.startTime).toBe('2024-01-01T00:00:00Z');
        expect(body.status.containerStatuses[0].allocatedResources).toEqual({ cpu: '1' });
        expect(await client.getPod(ref, { signal })).toEqual(body);
        expect(await nodeClient.getPod(ref, { signal })).toEqual(body);
      });

      it('a strategic merge patch arrives with its content type, and the response is the patched pod', async () => {
        const { ref, uid } = await createPod();
        const condition = (type: string): Json => ({ type, status: 'True' });
        await nodeClient.patchPodStatus(ref, strategic(uid, { conditions: [condition('A'), condition('B')] }), {
          signal,
        });
        const patch = strategic(uid, { conditions: [condition('C'), { $patch: 'delete', type: 'A' }] });
        const response: Json = await nodeClient.patchPodStatus(ref, patch, { signal });
        expect(response.status.conditions.map(({ type }: Json) => type as string).toSorted()).toEqual(['B', 'C']);
        expect(response).toEqual((await server.pods.get(ref.name)).body);
      });

      it('a JSON patch arrives with its content type', async () => {
        const { ref, uid } = await createPod();
        const patch: PodStatusPatch = {
          type: 'application/json-patch+json',
          body: [
            { op: 'test', path: '/metadata/uid', value: uid },
            { op: 'replace', path: '/status/phase', value: 'Running' },
          ],
        };
        expect((await nodeClient.patchPodStatus(ref, patch, { signal })).status?.phase).toBe('Running');
      });

      it('DELETE removes the pod, with the requested grace period', async () => {
        const { ref, uid } = await createPod();
        await nodeClient.deletePod(ref, { uid, gracePeriodSeconds: 20 }, { signal });
        expect((await server.pods.get(ref.name)).body.metadata.deletionGracePeriodSeconds).toBe(20);
        await nodeClient.deletePod(ref, { uid, gracePeriodSeconds: 0 }, { signal });
        expectFailure(await server.pods.get(ref.name), 404, 'NotFound');
      });

      it('DELETE of a pod that a finalizer keeps succeeds', async () => {
        const { ref, uid } = await createPod({ metadata: { finalizers: ['example.com/hold'] } });
        await nodeClient.deletePod(ref, { uid, gracePeriodSeconds: 0 }, { signal });
        expect((await client.getPod(ref, { signal })).metadata?.finalizers).toEqual(['example.com/hold']);
      });

      describe('classifies a failure', () => {
        interface FailureCase {
          readonly what: string;
          readonly request: (target: { ref: { namespace: string; name: string }; uid: string }) => Promise<unknown>;
          readonly verb: RequestVerb;
          readonly patchType?: PatchType;
          readonly expected: FailureClass;
          readonly code: number;
        }
        const missing = { namespace: 'default', name: 'missing' };
        const failures: readonly FailureCase[] = [
          {
            what: "a PATCH with another object's uid",
            request: ({ ref }) => nodeClient.patchPodStatus(ref, strategic('other', { phase: 'Running' }), { signal }),
            verb: 'patch',
            expected: 'Conflict',
            code: 422,
          },
          {
            what: 'a JSON patch whose test fails',
            request: ({ ref }) =>
              nodeClient.patchPodStatus(
                ref,
                {
                  type: 'application/json-patch+json',
                  body: [{ op: 'test', path: '/metadata/uid', value: 'other' }],
                },
                { signal },
              ),
            verb: 'patch',
            patchType: 'application/json-patch+json',
            expected: 'Conflict',
            code: 422,
          },
          {
            what: "a DELETE with another object's uid",
            request: ({ ref }) => nodeClient.deletePod(ref, { uid: 'other', gracePeriodSeconds: 0 }, { signal }),
            verb: 'delete',
            expected: 'Conflict',
            code: 409,
          },
          {
            what: 'a status that the server rejects',
            request: ({ ref, uid }) => nodeClient.patchPodStatus(ref, strategic(uid, { podIP: 'x' }), { signal }),
            verb: 'patch',
            expected: 'Invalid',
            code: 422,
          },
          {
            what: 'a GET of a pod that does not exist',
            request: () => client.getPod(missing, { signal }),
            verb: 'get',
            expected: 'NotFound',
            code: 404,
          },
          {
            what: "a node user's GET of a pod that does not exist",
            request: () => nodeClient.getPod(missing, { signal }),
            verb: 'get',
            expected: isAsNewest('get-of-missing-pod') ? 'Forbidden' : 'NotFound',
            code: isAsNewest('get-of-missing-pod') ? 403 : 404,
          },
          {
            what: "a node user's PATCH of a pod that does not exist",
            request: () => nodeClient.patchPodStatus(missing, strategic('u', { phase: 'Running' }), { signal }),
            verb: 'patch',
            expected: 'NotFound',
            code: 404,
          },
          {
            what: "a node user's DELETE of a pod that does not exist",
            request: () => nodeClient.deletePod(missing, { uid: 'u', gracePeriodSeconds: 0 }, { signal }),
            verb: 'delete',
            expected: 'NotFound',
            code: 404,
          },
        ];

        it.for(failures)('$what: $expected ($code)', async ({ request, verb, patchType, expected, code }) => {
          const error = await failureOf(request(await createPod()));
          expect(error).toMatchObject({ kind: 'http', statusCode: code });
          expect(classifyAPIError(error, verb, patchType)).toBe(expected);
        });

        it("a node user's PATCH of another node's pod: forbidden (403)", async () => {
          const { ref, uid } = await createPod({}, 'node-b');
          const patch = strategic(uid, { phase: 'Running' });
          const error = await failureOf(nodeClient.patchPodStatus(ref, patch, { signal }));
          expect(error).toMatchObject({ statusCode: 403, reason: 'Forbidden' });
          expect(classifyAPIError(error, 'patch')).toBe('Forbidden');
        });

        it('causes: reason and field', async () => {
          const { ref, uid } = await createPod();
          const patch = strategic(uid, { podIP: 'x' });
          const error = await failureOf(nodeClient.patchPodStatus(ref, patch, { signal }));
          expect(error.causes[0]).toMatchObject({ reason: 'FieldValueInvalid', field: 'status.podIPs[0]' });
        });

        it('an unknown token: transient (401), and the message does not contain the token', async () => {
          const { ref } = await createPod();
          const unauthenticated = await create({ ...server, token: 'unknown-token' });
          const error = await failureOf(unauthenticated.getPod(ref, { signal }));
          await unauthenticated.close();
          expect(error.statusCode).toBe(401);
          expect(classifyAPIError(error, 'get')).toBe('ServiceUnavailable');
          expect(`${error.message} ${error.stack}`).not.toContain('unknown-token');
        });
      });
    });
  });
}
