import * as fc from 'fast-check';
import { applyPatch, getValueByPointer, type Operation } from 'fast-json-patch';
import { describe, expect, it } from 'vitest';

import type { JSONPatchOperation } from '../../../src/kube/client/pod-client.ts';
import { createStatusJSONPatch } from '../../../src/status-manager/status/json-patch.ts';
import { diffPodStatus } from '../../../src/status-manager/status/strategic-merge.ts';
import type { PodCondition, PodStatus } from '../../../src/kube/objects/types.ts';
import {
  brokenPodStatusArbitrary,
  deepFreeze,
  podStatusArbitrary,
  relatedPodStatusesArbitrary,
} from '../../support/arbitraries.ts';

const uidTest: JSONPatchOperation = { op: 'test', path: '/metadata/uid', value: 'u' };

function condition(type: string, status = 'True', rest: Partial<PodCondition> & { new?: unknown } = {}): PodCondition {
  return { type, status, lastProbeTime: null, lastTransitionTime: null, ...rest };
}

function applied(status: unknown, operations: readonly JSONPatchOperation[] | undefined, uid = 'u'): PodStatus {
  const pod = { metadata: { uid }, ...(status === undefined ? {} : { status: structuredClone(status) }) };
  // Where the API server finds nothing, a test for null holds; the library wants the field to be there.
  const isMet = ({ op, path, value }: JSONPatchOperation): boolean =>
    op === 'test' && value === null && getValueByPointer(pod, path) === undefined;
  const strict = structuredClone((operations ?? []).filter((operation) => !isMet(operation)));
  return applyPatch(pod, strict as Operation[], true).newDocument.status as PodStatus;
}

describe('createStatusJSONPatch', () => {
  const cases: { name: string; server: unknown; target: PodStatus; operations: JSONPatchOperation[] | undefined }[] = [
    {
      name: 'nothing to send is no patch',
      server: { phase: 'Running' },
      target: { phase: 'Running' },
      operations: undefined,
    },
    {
      name: 'an absent status is added',
      server: undefined,
      target: { phase: 'Running' },
      operations: [uidTest, { op: 'add', path: '/status', value: { phase: 'Running' } }],
    },
    { name: 'an absent status and nothing to say is no patch', server: undefined, target: {}, operations: undefined },
    {
      name: 'fields are added, replaced and removed',
      server: { phase: 'Pending', reason: 'R', resources: { limits: { 'example.com/a~b': '1' } } },
      target: { phase: 'Running', message: 'm', resources: { limits: { cpu: '1' } } },
      operations: [
        uidTest,
        { op: 'replace', path: '/status/phase', value: 'Running' },
        { op: 'add', path: '/status/message', value: 'm' },
        { op: 'add', path: '/status/resources/limits/cpu', value: '1' },
        { op: 'remove', path: '/status/resources/limits/example.com~1a~0b' },
        { op: 'remove', path: '/status/reason' },
      ],
    },
    {
      name: 'a list of several writers that the server has not is tested for its absence',
      server: { phase: 'Pending' },
      target: { phase: 'Pending', conditions: [condition('Ready')] },
      operations: [
        uidTest,
        { op: 'test', path: '/status/conditions', value: null },
        { op: 'add', path: '/status/conditions', value: [condition('Ready')] },
      ],
    },
    {
      name: 'an element is tested by its key before it is changed',
      server: { conditions: [condition('A'), condition('B'), condition('C', 'True', { reason: 'R' })] },
      target: { conditions: [condition('A'), condition('B'), condition('C', 'False')] },
      operations: [
        uidTest,
        { op: 'test', path: '/status/conditions/2/type', value: 'C' },
        { op: 'replace', path: '/status/conditions/2/status', value: 'False' },
        { op: 'remove', path: '/status/conditions/2/reason' },
      ],
    },
    {
      name: 'a list whose keys differ is tested and replaced completely, unknown fields kept',
      server: { conditions: [condition('A', 'True', { new: 1 }), condition('B')] },
      target: { conditions: [condition('C'), condition('A', 'False')] },
      operations: [
        uidTest,
        { op: 'test', path: '/status/conditions', value: [condition('A', 'True', { new: 1 }), condition('B')] },
        { op: 'replace', path: '/status/conditions', value: [condition('C'), condition('A', 'False', { new: 1 })] },
      ],
    },
    {
      name: 'a list without key is tested and replaced completely',
      server: { resources: { claims: [{ name: 'a' }] } },
      target: { resources: { claims: [{ name: 'b' }] } },
      operations: [
        uidTest,
        { op: 'test', path: '/status/resources/claims', value: [{ name: 'a' }] },
        { op: 'replace', path: '/status/resources/claims', value: [{ name: 'b' }] },
      ],
    },
    {
      name: 'a list is tested before it is removed',
      server: { podIPs: [{ ip: '10.0.0.2' }] },
      target: {},
      operations: [
        uidTest,
        { op: 'test', path: '/status/podIPs', value: [{ ip: '10.0.0.2' }] },
        { op: 'remove', path: '/status/podIPs' },
      ],
    },
    {
      name: 'a list with a key twice is corrected completely',
      server: { conditions: [condition('A'), condition('A', 'False')] },
      target: { conditions: [condition('A')] },
      operations: [
        uidTest,
        { op: 'test', path: '/status/conditions', value: [condition('A'), condition('A', 'False')] },
        { op: 'replace', path: '/status/conditions', value: [condition('A')] },
      ],
    },
    {
      name: 'unknown fields of the server are not modified, ours are sent',
      server: { new: { a: 1, b: 2 }, other: 1 },
      target: { new: { a: 3 } } as PodStatus,
      operations: [uidTest, { op: 'replace', path: '/status/new/a', value: 3 }],
    },
    {
      name: "the server's own format is tested",
      server: { podIPs: null, hostIPs: ['odd'], phase: null },
      target: { phase: 'Running', podIPs: [{ ip: '10.0.0.2' }], hostIPs: [{ ip: '192.0.2.1' }] },
      operations: [
        uidTest,
        { op: 'replace', path: '/status/phase', value: 'Running' },
        { op: 'test', path: '/status/podIPs', value: null },
        { op: 'replace', path: '/status/podIPs', value: [{ ip: '10.0.0.2' }] },
        { op: 'test', path: '/status/hostIPs', value: ['odd'] },
        { op: 'replace', path: '/status/hostIPs', value: [{ ip: '192.0.2.1' }] },
      ],
    },
  ];

  it.each(cases)('$name', ({ server, target, operations }) => {
    expect(createStatusJSONPatch('u', deepFreeze(server), deepFreeze(target))).toEqual(operations);
  });

  it('fails on another UID', () => {
    const operations = createStatusJSONPatch('u', { phase: 'Pending' }, { phase: 'Running' });
    expect(() => applied({ phase: 'Pending' }, operations, 'other')).toThrow(
      expect.objectContaining({ name: 'TEST_OPERATION_FAILED' }),
    );
  });

  it('fails on a list that has changed in the meantime', () => {
    const operations = createStatusJSONPatch(
      'u',
      { conditions: [condition('A'), condition('B')] },
      { conditions: [condition('A'), condition('B', 'False')] },
    );
    const changed = { conditions: [condition('X'), condition('A'), condition('B')] };
    expect(() => applied(changed, operations)).toThrow(expect.objectContaining({ name: 'TEST_OPERATION_FAILED' }));
  });

  it('tests before every operation that reaches into a list, or replaces a complete list', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary(), ([server, target]) => {
        const operations = createStatusJSONPatch('u', server, target) ?? [uidTest];
        const tested = new Set<string>();
        expect(operations[0]).toEqual(uidTest);
        for (const { op, path } of operations) {
          if (op === 'test') tested.add(path);
          const indexes = [...path.matchAll(/\/\d+(?=\/)/g)].map((match) =>
            path.slice(0, match.index + match[0].length),
          );
          expect(indexes.filter((element) => ![...tested].some((test) => test.startsWith(`${element}/`)))).toEqual([]);
        }
      }),
    );
  });

  it('applied to the server gives the target', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary(), ([server, target]) => {
        expect(applied(server, createStatusJSONPatch('u', deepFreeze(server), deepFreeze(target)))).toEqual(target);
      }),
    );
  });

  it('applied to the server gives the target and keeps what only the server knows', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary({ unknownFields: true }), ([server, target]) => {
        const result = applied(server, createStatusJSONPatch('u', deepFreeze(server), deepFreeze(target)));
        expect(diffPodStatus(result, target)).toBeUndefined();
        expect('x-new' in result).toBe('x-new' in server || 'x-new' in target);
        for (const list of ['conditions', 'hostIPs', 'containerStatuses', 'resourceClaimStatuses'] as const) {
          for (const element of result[list] ?? []) {
            const key = Object.keys(element).find((field) => ['type', 'ip', 'name'].includes(field)) as 'name';
            const same = (other: object) => (other as { name: string })[key] === (element as { name: string })[key];
            const had = [...(server[list] ?? []), ...(target[list] ?? [])].filter(same).some((old) => 'x-new' in old);
            expect('x-new' in element).toBe(had);
          }
        }
      }),
    );
  });

  it('is undefined for equal statuses', () => {
    fc.assert(
      fc.property(podStatusArbitrary, (status) => {
        expect(createStatusJSONPatch('u', status, structuredClone(status))).toBeUndefined();
      }),
    );
  });

  it('never throws, whatever the server holds, and leads it to the target', () => {
    fc.assert(
      fc.property(brokenPodStatusArbitrary, podStatusArbitrary, (server, target) => {
        // The library that applies the patch forbids this name, and an API server drops it.
        fc.pre(!JSON.stringify(server).includes('__proto__'));
        const result = applied(server, createStatusJSONPatch('u', deepFreeze(server), deepFreeze(target)));
        expect(createStatusJSONPatch('u', result, target)).toBeUndefined();
      }),
    );
  });
});
