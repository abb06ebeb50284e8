import { describe, expect, it } from 'vitest';
import { diffPodStatus } from '../../../src/status-manager/status/strategic-merge.ts';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import type { Json, KubeResponse } from '../../support/kube-http.ts';
import {
  expectFailure,
  expectOk,
  JSON_PATCH,
  MERGE_PATCH,
  PODS_PATH,
  STRATEGIC_MERGE_PATCH,
  uniqueName,
} from '../pod-api.ts';
import type { ContractServer, ContractServerKind } from '../servers.ts';

const differs = 'this version differs, see version-facts.ts';

/** PATCH of `pods/status`. */
export function describeStatusPatch(server: () => ContractServer, { isAsNewest }: ContractServerKind): void {
  /** Creates a pod, patches its status with `before` if given, and resolves with name and pod. */
  async function startWith(before?: Json, spec?: Json): Promise<{ name: string; pod: Json }> {
    const name = uniqueName('patch');
    const created = await server().pods.create(name, { spec });
    if (before === undefined) return { name, pod: created };
    return { name, pod: expectOk(await server().pods.patchStatus(name, before)) };
  }

  const generation = isAsNewest('pod-generation') ? { generation: 1 } : {};

  describe('which object', () => {
    it('responds with the complete pod after the patch, with the same generation', async () => {
      const { name, pod } = await startWith();
      const body = expectOk(await server().pods.patchStatus(name, { phase: 'Running', message: 'm' }));
      expect(body).toMatchObject({
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: { name, uid: pod.metadata.uid, ...generation },
        spec: pod.spec,
        status: { phase: 'Running', message: 'm', qosClass: 'BestEffort' },
      });
      expect(body.metadata.resourceVersion).not.toBe(pod.metadata.resourceVersion);
      expect((await server().pods.get(name)).body).toEqual(body);
    });

    it('rejects a field that does not exist with 404', async () => {
      const name = uniqueName('missing');
      expectFailure(await server().pods.patchStatus(name, { phase: 'Running' }), 404, 'NotFound', {
        details: { name, kind: 'pods' },
      });
    });

    it("rejects another object's uid with 422 and a cause, and changes nothing", async () => {
      const { name, pod } = await startWith();
      const body = { metadata: { uid: 'other' }, status: { phase: 'Running' } };
      const cause = { reason: 'FieldValueInvalid', field: 'metadata.uid' };
      const causes = isAsNewest('patch-of-another-uid') ? [cause] : [cause, cause];
      expectFailure(await server().pods.patch(`${name}/status`, body, STRATEGIC_MERGE_PATCH), 422, 'Invalid', {
        details: { name, kind: 'Pod', causes },
      });
      expect((await server().pods.get(name)).body).toEqual(pod);
    });

    it('rejects an outdated resourceVersion with 409', async () => {
      const { name } = await startWith();
      const body = { metadata: { resourceVersion: '1' }, status: { phase: 'Running' } };
      expectFailure(await server().pods.patch(`${name}/status`, body, STRATEGIC_MERGE_PATCH), 409, 'Conflict', {
        details: { name, kind: 'pods' },
      });
    });

    it("rejects a name other than the URL's with 400", async () => {
      const { name } = await startWith();
      const body = { metadata: { name: 'other' }, status: { phase: 'Running' } };
      expectFailure(await server().pods.patch(`${name}/status`, body, STRATEGIC_MERGE_PATCH), 400, 'BadRequest');
    });

    it('drops changes of the spec, but accepts those of labels and annotations', async () => {
      const { name, pod } = await startWith();
      const body = {
        metadata: { labels: { a: 'b' }, annotations: { c: 'd' } },
        spec: { containers: [{ name: 'c', image: 'other' }] },
      };
      const after = expectOk(await server().pods.patch(`${name}/status`, body, STRATEGIC_MERGE_PATCH));
      expect(after.spec).toEqual(pod.spec);
      expect(after.metadata).toMatchObject({ labels: { a: 'b' }, annotations: { c: 'd' }, ...generation });
    });

    it('stores nothing with dryRun=All', async () => {
      const { name, pod } = await startWith();
      const body = { status: { message: 'dry' } };
      const response = await server().pods.patch(`${name}/status?dryRun=All`, body, STRATEGIC_MERGE_PATCH);
      expect(expectOk(response).status.message).toBe('dry');
      expect((await server().pods.get(name)).body).toEqual(pod);
    });
  });

  describe('patch types', () => {
    it.for(['application/json', 'text/plain'])('rejects %s with 415', async (contentType) => {
      const { name } = await startWith();
      expectFailure(await server().pods.patch(`${name}/status`, {}, contentType), 415, 'UnsupportedMediaType');
    });

    it.for([
      ['strategic merge', STRATEGIC_MERGE_PATCH, '{'],
      ['strategic merge', STRATEGIC_MERGE_PATCH, '[]'],
      ['merge', MERGE_PATCH, '{'],
      ['JSON', JSON_PATCH, '{'],
      ['JSON', JSON_PATCH, '{"op":"test"}'],
    ] as const)('rejects the malformed %s patch (%s) %s with 400', async ([, contentType, body]) => {
      const { name } = await startWith();
      expectFailure(await server().pods.patch(`${name}/status`, body, contentType), 400, 'BadRequest');
    });

    it('applies a merge patch: null removes, lists are replaced', async () => {
      const { name } = await startWith({ message: 'm', conditions: [{ type: 'A', status: 'True' }] });
      const body = { status: { message: null, conditions: [{ type: 'B', status: 'True' }] } };
      const { status } = expectOk(await server().pods.patch(`${name}/status`, body, MERGE_PATCH));
      expect(status).not.toHaveProperty('message');
      expect(status.conditions.map(({ type }: Json) => type)).toEqual(['B']);
    });
  });

  describe('JSON patch', () => {
    it('applies operations whose tests succeed', async () => {
      const { name, pod } = await startWith();
      const operations = [
        { op: 'test', path: '/metadata/uid', value: pod.metadata.uid },
        { op: 'test', path: '/status/message', value: null },
        { op: 'replace', path: '/status/phase', value: 'Running' },
        { op: 'add', path: '/status/conditions', value: [{ type: 'A', status: 'True' }] },
        { op: 'add', path: '/status/conditions/-', value: { type: 'B', status: 'True' } },
      ];
      const { status } = expectOk(await server().pods.patch(`${name}/status`, operations, JSON_PATCH));
      expect(status.phase).toBe('Running');
      expect(status.conditions.map(({ type }: Json) => type)).toEqual(['A', 'B']);
    });

    it.for<[string, Json]>([
      ['a failed test', { op: 'test', path: '/metadata/uid', value: 'other' }],
      ['a test of a missing field', { op: 'test', path: '/status/message', value: 'm' }],
      ['a removal of a missing field', { op: 'remove', path: '/status/message' }],
      ['a replacement below a missing field', { op: 'replace', path: '/status/nope/x', value: 1 }],
      ['an unknown operation', { op: 'frob', path: '/status/phase', value: 'Running' }],
    ])('rejects %s with 422 without causes, and changes nothing', async ([, operation]) => {
      const { name, pod } = await startWith();
      const operations = [{ op: 'replace', path: '/status/phase', value: 'Running' }, operation];
      const response = await server().pods.patch(`${name}/status`, operations, JSON_PATCH);
      expectFailure(response, 422, 'Invalid');
      expect(response.body.details).toEqual({});
      expect((await server().pods.get(name)).body).toEqual(pod);
    });
  });

  describe('a patch that changes nothing keeps the resourceVersion', () => {
    it.for<[string, (pod: Json) => Json, string]>([
      ['only the uid', (pod) => ({ metadata: { uid: pod.metadata.uid } }), STRATEGIC_MERGE_PATCH],
      ['the same phase', () => ({ status: { phase: 'Running' } }), STRATEGIC_MERGE_PATCH],
      [
        'the same condition',
        () => ({ status: { conditions: [{ type: 'A', status: 'True' }] } }),
        STRATEGIC_MERGE_PATCH,
      ],
      ['the same in a merge patch', () => ({ status: { phase: 'Running' } }), MERGE_PATCH],
      ['the same in a JSON patch', () => [{ op: 'replace', path: '/status/phase', value: 'Running' }], JSON_PATCH],
      [
        'the same instant in another time zone',
        () => ({ status: { startTime: '2024-01-01T02:00:00+02:00' } }),
        STRATEGIC_MERGE_PATCH,
      ],
      ['an unknown field', () => ({ status: { frobnicate: 1 } }), STRATEGIC_MERGE_PATCH],
      ['qosClass null', () => ({ status: { qosClass: null } }), STRATEGIC_MERGE_PATCH],
      ['podIPs null alone', () => ({ status: { podIPs: null } }), STRATEGIC_MERGE_PATCH],
      ['podIP null alone', () => ({ status: { podIP: null } }), STRATEGIC_MERGE_PATCH],
      ['podIPs of another address alone', () => ({ status: { podIPs: [{ ip: '10.0.0.6' }] } }), STRATEGIC_MERGE_PATCH],
    ])('%s', async ([what, body, contentType], { skip }) => {
      skip(what === 'qosClass null' && !isAsNewest('qos-class'), differs);
      const { name, pod } = await startWith({
        phase: 'Running',
        podIP: '10.0.0.5',
        startTime: '2024-01-01T00:00:00Z',
        conditions: [{ type: 'A', status: 'True' }],
      });
      expect(expectOk(await server().pods.patch(`${name}/status`, body(pod), contentType))).toEqual(pod);
    });
  });

  describe('what is stored', () => {
    it.skipIf(!isAsNewest('qos-class'))('rejects another qosClass with 422', async () => {
      const { name } = await startWith();
      expectFailure(await server().pods.patchStatus(name, { qosClass: 'Guaranteed' }), 422, 'Invalid', {
        details: { name, kind: 'Pod', causes: [{ reason: 'FieldValueInvalid', field: 'status.qosClass' }] },
      });
    });

    it('fills in podIPs from podIP, but not hostIPs from hostIP', async () => {
      const { name } = await startWith();
      const { status } = expectOk(await server().pods.patchStatus(name, { podIP: '10.0.0.5', hostIP: '10.1.0.1' }));
      expect(status).toEqual({
        phase: 'Pending',
        hostIP: '10.1.0.1',
        podIP: '10.0.0.5',
        podIPs: [{ ip: '10.0.0.5' }],
        qosClass: 'BestEffort',
      });
    });

    it('replaces and removes podIP together with podIPs', async () => {
      const { name } = await startWith({ podIP: '10.0.0.5' });
      const replaced = await server().pods.patchStatus(name, {
        podIP: '10.0.0.6',
        '$setElementOrder/podIPs': [{ ip: '10.0.0.6' }],
        podIPs: [{ ip: '10.0.0.6' }, { $patch: 'delete', ip: '10.0.0.5' }],
      });
      expect(expectOk(replaced).status).toMatchObject({ podIP: '10.0.0.6', podIPs: [{ ip: '10.0.0.6' }] });
      const removed = expectOk(await server().pods.patchStatus(name, { podIP: null, podIPs: null }));
      expect(removed.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    });

    it.for<[string, Json, string]>([
      ['podIPs', { podIP: 'nonsense', podIPs: [{ ip: 'nonsense' }] }, 'status.podIPs[0]'],
      ['hostIPs', { hostIP: 'nonsense', hostIPs: [{ ip: 'nonsense' }] }, 'status.hostIPs[0]'],
    ])('rejects an invalid address in %s with 422', async ([, status, field]) => {
      const { name } = await startWith();
      const response = await server().pods.patchStatus(name, status);
      expectFailure(response, 422, 'Invalid', { details: { name, kind: 'Pod' } });
      expect(response.body.details.causes[0]).toMatchObject({ reason: 'FieldValueInvalid', field });
    });

    it.for<[string, string]>([
      ['::ffff:1.2.3.4', 'must not be an IPv4-mapped IPv6 address'],
      ['::FFFF:102:304', 'must not be an IPv4-mapped IPv6 address'],
      ['0:0:0:0:0:ffff:102:304', 'must not be an IPv4-mapped IPv6 address'],
      ['fe80::1%eth0', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ])('rejects the address %s with 422', async ([ip, rule], { skip }) => {
      skip(rule.includes('IPv4-mapped') && !isAsNewest('mapped-address'), differs);
      const { name } = await startWith();
      const response = await server().pods.patchStatus(name, {
        podIP: ip,
        podIPs: [{ ip }],
        hostIP: ip,
        hostIPs: [{ ip }],
      });
      const message = `Invalid value: "${ip}": ${rule}`;
      expectFailure(response, 422, 'Invalid', {
        details: {
          causes: [
            { reason: 'FieldValueInvalid', field: 'status.podIPs[0]', message },
            { reason: 'FieldValueInvalid', field: 'status.hostIPs[0]', message },
          ],
        },
      });
    });

    it.for(['::1.2.3.4', '::ffff:0:1.2.3.4', '1::ffff:102:304', '2001:DB8::1'])(
      'accepts the address %s',
      async (ip) => {
        const { name } = await startWith();
        expect(expectOk(await server().pods.patchStatus(name, { podIP: ip, podIPs: [{ ip }] })).status.podIP).toBe(ip);
      },
    );

    it('strips volumeHealth', async () => {
      const { name } = await startWith();
      const volumeHealth = [{ name: 'v', healthConditions: [{ status: 's', reason: 'r' }], lastTransitionTime: null }];
      expect(expectOk(await server().pods.patchStatus(name, { volumeHealth })).status).not.toHaveProperty(
        'volumeHealth',
      );
    });

    it('strips nodeAllocatableResourceClaimStatuses', async () => {
      const { name } = await startWith();
      const nodeAllocatableResourceClaimStatuses = [{ resourceClaimName: 'a' }];
      const { status } = expectOk(await server().pods.patchStatus(name, { nodeAllocatableResourceClaimStatuses }));
      expect(status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
    });

    it.for(['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])(
      'strips the volumeStatus of the mounts in %s',
      async (list) => {
        const { name } = await startWith();
        const mount = { name: 'v', mountPath: '/m' };
        const volumeMounts = [{ ...mount, volumeStatus: { image: { imageRef: 'r' } } }];
        const { status } = expectOk(await server().pods.patchStatus(name, { [list]: [{ name: 'c', volumeMounts }] }));
        expect(status[list][0].volumeMounts).toEqual([mount]);
      },
    );

    it('drops unknown fields at every level', async () => {
      const { name } = await startWith();
      const { status } = expectOk(
        await server().pods.patchStatus(name, {
          frobnicate: 1,
          message: 'm',
          conditions: [{ type: 'A', status: 'True', frobnicate: 1 }],
          containerStatuses: [{ name: 'c', state: { waiting: { frobnicate: 1 } }, frobnicate: 1 }],
        }),
      );
      expect(JSON.stringify(status)).not.toContain('frobnicate');
      expect(status.message).toBe('m');
    });

    it('truncates times to whole seconds in UTC', async () => {
      const { name } = await startWith();
      const { status } = expectOk(
        await server().pods.patchStatus(name, {
          startTime: '2024-01-01T01:02:03.999+01:00',
          conditions: [{ type: 'A', status: 'True', lastTransitionTime: '2024-01-01T00:00:00.5Z' }],
        }),
      );
      expect(status.startTime).toBe('2024-01-01T00:02:03Z');
      expect(status.conditions[0]).toEqual({
        type: 'A',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2024-01-01T00:00:00Z',
      });
    });

    it('normalizes quantities and fills in defaults of a container status', async () => {
      const { name } = await startWith();
      const { status } = expectOk(
        await server().pods.patchStatus(name, {
          containerStatuses: [
            {
              name: 'c',
              state: { running: {} },
              allocatedResources: { cpu: '1000m', memory: '1024Mi' },
              resources: { limits: { cpu: '0.5', memory: '1.5Gi' }, requests: { memory: '1000' } },
            },
          ],
        }),
      );
      expect(status.containerStatuses).toEqual([
        {
          name: 'c',
          state: { running: { startedAt: null } },
          lastState: {},
          ready: false,
          restartCount: 0,
          image: '',
          imageID: '',
          allocatedResources: { cpu: '1', memory: '1Gi' },
          resources: { limits: { cpu: '500m', memory: '1536Mi' }, requests: { memory: '1k' } },
        },
      ]);
    });

    it.for<[string, Json]>([
      ['an invalid time', { startTime: 'yesterday' }],
      ['an invalid quantity', { containerStatuses: [{ name: 'c', allocatedResources: { cpu: 'x' } }] }],
      ['a number instead of a string', { phase: 5 }],
      ['a number instead of a list that is stripped', { volumeHealth: 5 }],
    ])('rejects %s with 422 on the patch', async ([, status], { skip }) => {
      skip('volumeHealth' in status && !isAsNewest('newer-status-fields'), differs);
      const { name } = await startWith();
      expectFailure(await server().pods.patchStatus(name, status), 422, 'Invalid', {
        details: { causes: [{ reason: 'FieldValueInvalid', field: 'patch' }] },
      });
    });

    it('allows a pod to leave a terminal phase', async () => {
      const { name } = await startWith({ phase: 'Failed' });
      expect(expectOk(await server().pods.patchStatus(name, { phase: 'Running' })).status.phase).toBe('Running');
    });
  });

  describe('a terminated container', () => {
    type List = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses';
    const running = { name: 'c', state: { running: {} } };
    const terminated = (exitCode: number): Json => ({ name: 'c', state: { terminated: { exitCode } } });
    const container = (overrides: Json = {}): Json => ({ name: 'c', image: 'i', ...(overrides as object) });
    const withRule = (action: string): Json => ({
      restartPolicy: 'Never',
      restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [1] } }],
    });
    const regular = (restartPolicy: string, overrides?: Json): Json => ({
      restartPolicy,
      containers: [container(overrides)],
    });
    const init = (restartPolicy: string, overrides?: Json): Json => ({
      restartPolicy,
      containers: [{ name: 'main', image: 'i' }],
      initContainers: [container(overrides)],
    });
    const others = (restartPolicy: string): Json => ({ restartPolicy, containers: [{ name: 'other', image: 'i' }] });

    /** A restart policy of a single container, which older servers accept for sidecars only. */
    function hasOwnPolicy({ containers, initContainers = [] }: Json): boolean {
      const ofInit = initContainers[0]?.restartPolicy;
      return containers[0].restartPolicy !== undefined || (ofInit !== undefined && ofInit !== 'Always');
    }

    async function runAgain(
      list: List,
      exitCode: number,
      spec: Json,
      after: Json[] = [running],
    ): Promise<KubeResponse> {
      const { name } = await startWith({ [list]: [terminated(exitCode)] }, spec);
      return server().pods.patchStatus(name, { [list]: after });
    }

    function expectForbidden(response: KubeResponse, list: List): void {
      const field = `status.${list}[0].state`;
      expectFailure(response, 422, 'Invalid', { details: { kind: 'Pod' } });
      expect(response.body.details.causes[0]).toEqual({
        reason: 'FieldValueForbidden',
        message: 'Forbidden: may not be transitioned to non-terminated state',
        field,
      });
    }

    it.for<[string, List, number, Json]>([
      ['under Never', 'containerStatuses', 1, regular('Never')],
      ['that succeeded, under OnFailure', 'containerStatuses', 0, regular('OnFailure')],
      [
        'of policy Never in a pod of policy Always',
        'containerStatuses',
        1,
        regular('Always', { restartPolicy: 'Never' }),
      ],
      [
        'of policy Never in a pod of policy OnFailure',
        'containerStatuses',
        1,
        regular('OnFailure', { restartPolicy: 'Never' }),
      ],
      [
        'that succeeded, of policy OnFailure in a pod of policy Always',
        'containerStatuses',
        0,
        regular('Always', { restartPolicy: 'OnFailure' }),
      ],
      ['whose rule names another exit code', 'containerStatuses', 2, regular('Always', withRule('Restart'))],
      ['that the spec does not name, under Always', 'containerStatuses', 1, others('Always')],
      ['that the spec does not name, under OnFailure', 'containerStatuses', 1, others('OnFailure')],
      ['that is an init container under Never', 'initContainerStatuses', 1, init('Never')],
      [
        'that is an init container of policy Never',
        'initContainerStatuses',
        1,
        init('Always', { restartPolicy: 'Never' }),
      ],
      ['that is listed as an init container only', 'initContainerStatuses', 1, regular('Always')],
      ['that is ephemeral, under Always', 'ephemeralContainerStatuses', 1, regular('Always')],
      ['that is ephemeral, under OnFailure', 'ephemeralContainerStatuses', 1, regular('OnFailure')],
      ['that is ephemeral, under Never', 'ephemeralContainerStatuses', 0, regular('Never')],
      [
        'that is ephemeral, whoever else may restart all',
        'ephemeralContainerStatuses',
        1,
        regular('Never', withRule('RestartAllContainers')),
      ],
    ])('%s may not run again', async ([what, list, exitCode, spec], { skip }) => {
      skip(hasOwnPolicy(spec) && !isAsNewest('container-restart-policy'), differs);
      const isUnknown = what.startsWith('that the spec does not name') || what.endsWith('as an init container only');
      skip(isUnknown && !isAsNewest('restart-of-unknown-container'), differs);
      expectForbidden(await runAgain(list, exitCode, spec), list);
    });

    it.for<[string, List, number, Json]>([
      ['under Always', 'containerStatuses', 0, regular('Always')],
      ['that failed, under OnFailure', 'containerStatuses', 1, regular('OnFailure')],
      [
        'of policy Always in a pod of policy Never',
        'containerStatuses',
        0,
        regular('Never', { restartPolicy: 'Always' }),
      ],
      ['whose rule names its exit code', 'containerStatuses', 1, regular('Never', withRule('Restart'))],
      ['that is an init container under Always', 'initContainerStatuses', 0, init('Always')],
      ['that is a sidecar', 'initContainerStatuses', 0, init('Never', { restartPolicy: 'Always' })],
      ['in a pod that may restart all', 'containerStatuses', 0, regular('Never', withRule('RestartAllContainers'))],
      [
        'that is an init container in a pod that may restart all',
        'initContainerStatuses',
        0,
        regular('Never', withRule('RestartAllContainers')),
      ],
    ])('%s may run again', async ([, list, exitCode, spec], { skip }) => {
      skip(hasOwnPolicy(spec) && !isAsNewest('container-restart-policy'), differs);
      expectOk(await runAgain(list, exitCode, spec));
    });

    it.for<List>(['containerStatuses', 'ephemeralContainerStatuses'])(
      'may not run again as the second entry of its name in %s',
      async (list) => {
        expectForbidden(await runAgain(list, 1, regular('Never'), [terminated(1), running]), list);
      },
    );

    it.for<List>(['containerStatuses', 'ephemeralContainerStatuses'])('may be left out of %s', async (list) => {
      expectOk(await runAgain(list, 1, regular('Never'), []));
    });
  });

  describe('strategic merge of lists', () => {
    const typesOf = (pod: Json): string[] => pod.status.conditions.map(({ type }: Json) => type as string);
    const condition = (type: string): Json => ({ type, status: 'True' });

    it.for<[string, Json, string[]]>([
      [
        'reorders by $setElementOrder alone',
        { '$setElementOrder/conditions': [{ type: 'B' }, { type: 'A' }] },
        ['B', 'A'],
      ],
      [
        'places a new element by $setElementOrder, and elements that are missing there in between',
        { '$setElementOrder/conditions': [{ type: 'C' }, { type: 'B' }], conditions: [condition('C')] },
        ['C', 'A', 'B'],
      ],
      ['deletes by key', { conditions: [{ $patch: 'delete', type: 'A' }] }, ['B']],
      ['replaces the list on $patch: replace', { conditions: [{ $patch: 'replace' }, condition('Q')] }, ['Q']],
      ['removes the list on null', { conditions: null, message: 'm' }, []],
    ])('%s', async ([, status, expected]) => {
      const { name } = await startWith({ conditions: [condition('A'), condition('B')] });
      const pod = expectOk(await server().pods.patchStatus(name, status));
      expect(pod.status.conditions === undefined ? [] : typesOf(pod)).toEqual(expected);
    });

    it('merges the fields of a common element', async () => {
      const { name } = await startWith({ conditions: [{ type: 'A', status: 'True', reason: 'R', message: 'm' }] });
      const { status } = expectOk(
        await server().pods.patchStatus(name, { conditions: [{ type: 'A', status: 'False', reason: null }] }),
      );
      expect(status.conditions).toEqual([
        { type: 'A', status: 'False', message: 'm', lastProbeTime: null, lastTransitionTime: null },
      ]);
    });

    it('replaces container statuses as a list', async () => {
      const status = (name: string): Json => ({ name, state: {}, image: 'i' });
      const { name } = await startWith({ containerStatuses: [status('c'), status('d')] });
      const pod = expectOk(await server().pods.patchStatus(name, { containerStatuses: [status('d')] }));
      expect(pod.status.containerStatuses.map((container: Json) => container.name)).toEqual(['d']);
    });

    it.for<[string, Json]>([
      [
        'an order that does not match the list',
        { '$setElementOrder/conditions': [{ type: 'B' }], conditions: [condition('Z')] },
      ],
      ['an element without its key', { conditions: [{ status: 'True' }] }],
    ])('rejects %s with 500', async ([, status]) => {
      const { name } = await startWith({ conditions: [condition('A'), condition('B')] });
      const response = await server().pods.patchStatus(name, status);
      expect(response.status).toBe(500);
      expect(response.body).toMatchObject({ kind: 'Status', status: 'Failure', code: 500 });
    });

    it('accepts duplicate condition types, patches the first one, and is repaired by a delete directive together with the complete element', async () => {
      const { name } = await startWith();
      const operations = [
        {
          op: 'add',
          path: '/status/conditions',
          value: [
            { type: 'X', status: 'True' },
            { type: 'X', status: 'False' },
          ],
        },
      ];
      const duplicated = expectOk(await server().pods.patch(`${name}/status`, operations, JSON_PATCH));
      expect(duplicated.status.conditions.map(({ status }: Json) => status)).toEqual(['True', 'False']);
      const patched = expectOk(
        await server().pods.patchStatus(name, { conditions: [{ type: 'X', status: 'Unknown' }] }),
      );
      expect(patched.status.conditions.map(({ status }: Json) => status)).toEqual(['Unknown', 'False']);
      const body = diffPodStatus(patched.status as PodStatus, {
        conditions: [{ type: 'X', status: 'True', reason: 'Once', lastProbeTime: null, lastTransitionTime: null }],
      });
      const { status } = expectOk(await server().pods.patchStatus(name, { ...body, qosClass: 'BestEffort' }));
      expect(status.conditions).toEqual([
        { type: 'X', status: 'True', reason: 'Once', lastProbeTime: null, lastTransitionTime: null },
      ]);
    });
  });

  it('PUT of the status replaces it', async () => {
    const { name, pod } = await startWith({ phase: 'Running', message: 'm' });
    const body = { ...pod, status: { phase: 'Running', qosClass: 'BestEffort' } };
    const after = expectOk(await server().http.request('PUT', `${PODS_PATH}/${name}/status`, { body }));
    expect(after.status).toEqual({ phase: 'Running', qosClass: 'BestEffort' });
  });
}
