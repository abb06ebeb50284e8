import { existsSync, readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { applyPodStatusPatch } from '../../../src/status-manager/status/strategic-merge-apply.ts';
import type { PatchFields } from '../../../src/status-manager/status/patch-schema.ts';
import { podStatusFields } from '../../../src/status-manager/status/status-fields.ts';
import { createStatusPatch, diffPodStatus } from '../../../src/status-manager/status/strategic-merge.ts';
import type { PodCondition, PodStatus } from '../../../src/kube/objects/types.ts';
import {
  brokenPodStatusArbitrary,
  deepFreeze,
  podStatusArbitrary,
  relatedPodStatusesArbitrary,
} from '../../support/arbitraries.ts';

interface Vector {
  readonly from: PodStatus;
  readonly to: PodStatus;
  /** What Kubernetes' Go code makes of the two; null for nothing. */
  readonly patch: object | null;
  /** Another status, and what the Go code makes of it with `patch`. */
  readonly server?: PodStatus;
  readonly applied?: PodStatus;
}

const vectors = readFileSync(new URL('testdata/strategic-merge.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line, i) => [i + 1, JSON.parse(line) as Vector] as const);

function condition(type: string, status = 'True', rest: Partial<PodCondition> = {}): PodCondition {
  return { type, status, lastProbeTime: null, lastTransitionTime: null, ...rest };
}

function ips(...addresses: string[]): { ip: string }[] {
  return addresses.map((ip) => ({ ip }));
}

/** A status as a test writes it, unknown fields included. */
function statusOf(value: object): PodStatus {
  return value;
}

describe('diffPodStatus', () => {
  const examples: { name: string; from: PodStatus; to: PodStatus; patch: object | undefined }[] = [
    {
      name: 'scalars are set, changed and nulled',
      from: { phase: 'Running', reason: 'R', message: 'm', nominatedNodeName: 'n', observedGeneration: 2 },
      to: { phase: 'Failed', message: 'm2' },
      patch: { message: 'm2', nominatedNodeName: null, observedGeneration: null, phase: 'Failed', reason: null },
    },
    {
      name: 'a merged list has its entries in the new order, then the deletions in byte order',
      from: { conditions: [condition('A'), condition('B'), condition('Y'), condition('X')] },
      to: { conditions: [condition('N'), condition('B', 'False'), condition('A', 'False')] },
      patch: {
        '$setElementOrder/conditions': [{ type: 'N' }, { type: 'B' }, { type: 'A' }],
        conditions: [
          { type: 'N', status: 'True', lastProbeTime: null, lastTransitionTime: null },
          { status: 'False', type: 'B' },
          { status: 'False', type: 'A' },
          { $patch: 'delete', type: 'X' },
          { $patch: 'delete', type: 'Y' },
        ],
      },
    },
    {
      name: 'another order alone is sent',
      from: { conditions: [condition('Ready', 'False'), condition('gate')] },
      to: { conditions: [condition('gate'), condition('Ready', 'False')] },
      patch: { '$setElementOrder/conditions': [{ type: 'gate' }, { type: 'Ready' }] },
    },
    {
      name: 'deletions are in byte order, not in numeric order',
      from: { podIPs: ips('10.0.0.10', '10.0.0.9', 'fd00::1') },
      to: { podIPs: ips('10.0.0.2', 'fd00::1') },
      patch: {
        '$setElementOrder/podIPs': [{ ip: '10.0.0.2' }, { ip: 'fd00::1' }],
        podIPs: [{ ip: '10.0.0.2' }, { $patch: 'delete', ip: '10.0.0.10' }, { $patch: 'delete', ip: '10.0.0.9' }],
      },
    },
    {
      name: 'objects recurse, lists in them are replaced',
      from: { resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1' }, claims: [{ name: 'a' }] } },
      to: { resources: { limits: { cpu: '2' }, claims: [{ name: 'b' }] } },
      patch: { resources: { claims: [{ name: 'b' }], limits: { cpu: '2', memory: null }, requests: null } },
    },
    {
      name: 'present but empty is not absent',
      from: { resources: { limits: { cpu: '1' } } },
      to: { resources: {} },
      patch: { resources: { limits: null } },
    },
    {
      name: 'a list that the server lacks is sent completely, without directives',
      from: {},
      to: { conditions: [condition('Ready')] },
      patch: { conditions: [condition('Ready')] },
    },
    { name: 'a list that is gone is nulled', from: { podIPs: ips('10.0.0.2') }, to: {}, patch: { podIPs: null } },
    {
      name: 'a replaced list is sent completely when only its order differs',
      from: {
        volumeHealth: [
          { name: 'a', lastTransitionTime: null },
          { name: 'b', lastTransitionTime: null },
        ],
      },
      to: {
        volumeHealth: [
          { name: 'b', lastTransitionTime: null },
          { name: 'a', lastTransitionTime: null },
        ],
      },
      patch: {
        volumeHealth: [
          { name: 'b', lastTransitionTime: null },
          { name: 'a', lastTransitionTime: null },
        ],
      },
    },
    {
      name: 'a changed claim names what it retains',
      from: { resourceClaimStatuses: [{ name: 'a' }, { name: 'b', resourceClaimName: 'x' }] },
      to: { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'y' }, { name: 'b' }] },
      patch: {
        '$setElementOrder/resourceClaimStatuses': [{ name: 'a' }, { name: 'b' }],
        resourceClaimStatuses: [
          { $retainKeys: ['name', 'resourceClaimName'], name: 'a', resourceClaimName: 'y' },
          { $retainKeys: ['name'], name: 'b', resourceClaimName: null },
        ],
      },
    },
  ];

  it.each(examples)('$name', ({ from, to, patch }) => {
    expect(diffPodStatus(deepFreeze(from), deepFreeze(to))).toEqual(patch);
  });

  it.each(vectors)('makes the patch of the Go code, vector %i', (_, { from, to, patch }) => {
    expect(diffPodStatus(deepFreeze(from), deepFreeze(to)) ?? null).toEqual(patch);
  });

  describe('unknown fields', () => {
    const cases: { name: string; from: object; to: object; patch: object | undefined }[] = [
      {
        name: 'of the server alone are not nulled',
        from: { phase: 'Running', new: 1 },
        to: { phase: 'Running' },
        patch: undefined,
      },
      {
        name: 'of the server alone are not nulled in the element of a merged list',
        from: { conditions: [{ ...condition('Ready'), new: { a: 1 } }] },
        to: { conditions: [condition('Ready', 'False')] },
        patch: { '$setElementOrder/conditions': [{ type: 'Ready' }], conditions: [{ type: 'Ready', status: 'False' }] },
      },
      {
        name: 'of the server alone are retained by $retainKeys',
        from: { resourceClaimStatuses: [{ name: 'a', new: 1 }] },
        to: { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'b' }] },
        patch: {
          '$setElementOrder/resourceClaimStatuses': [{ name: 'a' }],
          resourceClaimStatuses: [
            { $retainKeys: ['name', 'new', 'resourceClaimName'], name: 'a', resourceClaimName: 'b' },
          ],
        },
      },
      {
        name: 'of the server alone do not make a replaced list differ',
        from: { volumeHealth: [{ name: 'a', lastTransitionTime: null, new: 1 }] },
        to: { volumeHealth: [{ name: 'a', lastTransitionTime: null }] },
        patch: undefined,
      },
      { name: 'of ours are sent', from: {}, to: { new: [1] }, patch: { new: [1] } },
      {
        name: 'of ours are sent where they differ',
        from: { new: { a: 1, b: 2 } },
        to: { new: { a: 3 } },
        patch: { new: { a: 3 } },
      },
      { name: 'with the same list are not sent', from: { new: [{ a: 1 }] }, to: { new: [{ a: 1 }] }, patch: undefined },
      {
        name: 'of the server alone and named like a field of every object are not nulled',
        from: { constructor: 'x', conditions: [{ ...condition('A'), toString: 'x' }] },
        to: { conditions: [condition('A')] },
        patch: undefined,
      },
      {
        name: 'named like a field of every object are fields',
        from: {},
        to: { constructor: 'x' },
        patch: { constructor: 'x' },
      },
      {
        name: 'but quantities under any name are nulled',
        from: { resources: { limits: { 'example.com/gpu': '1', constructor: '1' } } },
        to: { resources: { limits: { 'example.com/gpu': '1' } } },
        patch: { resources: { limits: { constructor: null } } },
      },
    ];

    it.each(cases)('$name', ({ from, to, patch }) => {
      expect(diffPodStatus(deepFreeze(statusOf(from)), deepFreeze(statusOf(to)))).toEqual(patch);
    });
  });

  describe('a key that the server has twice', () => {
    const twice = [condition('A'), condition('A', 'False'), condition('B')];

    it('is deleted and written back completely, so that the list has it once', () => {
      const target = { conditions: [condition('A', 'False'), condition('B')] };
      const patch = diffPodStatus(deepFreeze({ conditions: twice }), deepFreeze(target));
      expect(patch).toEqual({
        '$setElementOrder/conditions': [{ type: 'A' }, { type: 'B' }],
        conditions: [condition('A', 'False'), { $patch: 'delete', type: 'A' }],
      });
      expect(applyPodStatusPatch({ conditions: twice }, patch!)).toEqual(target);
    });

    it('is deleted when the target does not have it', () => {
      expect(diffPodStatus({ conditions: twice }, { conditions: [condition('B')] })).toEqual({
        '$setElementOrder/conditions': [{ type: 'B' }],
        conditions: [{ $patch: 'delete', type: 'A' }],
      });
    });

    it('is not modified when the target also has it twice, because it came from the server', () => {
      expect(diffPodStatus({ conditions: twice }, { conditions: twice })).toBeUndefined();
    });
  });

  it('takes null and absent for one', () => {
    const server = statusOf({ phase: null, conditions: [{ type: 'A', status: 'True', lastProbeTime: null }] });
    expect(diffPodStatus(server, { conditions: [condition('A')] })).toBeUndefined();
  });

  it('orders deletions by UTF-8 bytes', () => {
    const from = { conditions: [condition('\u{1d11e}'), condition('\uffee'), condition('A'), condition('é')] };
    expect(diffPodStatus(from, { conditions: [condition('A')] })?.['conditions']).toEqual([
      { $patch: 'delete', type: 'é' },
      { $patch: 'delete', type: '\uffee' },
      { $patch: 'delete', type: '\u{1d11e}' },
    ]);
  });

  it('never throws, whatever the server holds, and never changes it', () => {
    fc.assert(
      fc.property(brokenPodStatusArbitrary, podStatusArbitrary, (from, to) => {
        expect(() => diffPodStatus(deepFreeze(from) as PodStatus, deepFreeze(to))).not.toThrow();
      }),
    );
  });

  it('is undefined for equal statuses', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary({ unknownFields: true }), ([status]) => {
        expect(diffPodStatus(status, structuredClone(status))).toBeUndefined();
      }),
    );
  });

  it('applied to the server gives the target', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary(), ([from, to]) => {
        const patch = diffPodStatus(deepFreeze(from), deepFreeze(to)) ?? {};
        expect(applyPodStatusPatch(from, deepFreeze(patch))).toEqual(to);
      }),
    );
  });

  it('applied to the server gives the target and keeps what only the server knows', () => {
    fc.assert(
      fc.property(relatedPodStatusesArbitrary({ unknownFields: true }), ([from, to]) => {
        const applied = applyPodStatusPatch(from, diffPodStatus(deepFreeze(from), deepFreeze(to)) ?? {});
        expect(diffPodStatus(applied, to)).toBeUndefined();
        expect(Object.keys(applied)).toEqual(expect.arrayContaining(unknownFieldsOf(from)));
        for (const condition of applied.conditions ?? []) {
          const old = from.conditions?.find(({ type }) => type === condition.type);
          expect(Object.keys(condition)).toEqual(expect.arrayContaining(unknownFieldsOf(old)));
        }
      }),
    );
  });
});

function unknownFieldsOf(value: object | undefined): string[] {
  return Object.keys(value ?? {}).filter((field) => field === 'x-new');
}

describe('createStatusPatch', () => {
  it('names the UID beside the changes', () => {
    expect(createStatusPatch('uid-1', { phase: 'Pending' }, { phase: 'Running' })).toEqual({
      metadata: { uid: 'uid-1' },
      status: { phase: 'Running' },
    });
  });

  it('is undefined when there is nothing to send', () => {
    expect(createStatusPatch('uid-1', { phase: 'Running' }, { phase: 'Running' })).toBeUndefined();
  });
});

describe('the schema table', () => {
  const fieldTable = new URL('../../../../shared/podstatus-fields.txt', import.meta.url);

  it.skipIf(!existsSync(fieldTable))(
    'has the fields and merge keys of the Go types (skipped without ../shared)',
    () => {
      const types = new Map<string, Map<string, { type: string; strategy: string; key: string }>>();
      let current = new Map<string, { type: string; strategy: string; key: string }>();
      for (const line of readFileSync(fieldTable, 'utf8').split('\n')) {
        const type = /^== v1\.(\w+)/.exec(line)?.[1];
        if (type !== undefined) types.set(type, (current = new Map()));
        const field = /^\s+\w+\s+(\S+)\s+json="([^",]+)[^"]*" ps="([^"]*)" pk="([^"]*)"/.exec(line);
        if (field)
          current.set(field[2]!, {
            type: field[1]!.replaceAll(/[*[\]]|v1\./g, ''),
            strategy: field[3]!,
            key: field[4]!,
          });
      }

      function compare(fields: PatchFields, type: string): void {
        const goFields = types.get(type)!;
        expect(Object.keys(fields).toSorted()).toEqual([...goFields.keys()].toSorted());
        for (const [field, { type: inner, strategy, key }] of goFields) {
          const schema = fields[field]!;
          const found = `${schema.mergeKey === undefined ? '' : 'merge'}${schema.retainKeys ? ',retainKeys' : ''}`;
          expect([type, field, found, schema.mergeKey ?? '']).toEqual([type, field, strategy, key]);
          if (types.has(inner)) compare(schema.fields!, inner);
        }
      }
      compare(podStatusFields, 'PodStatus');
    },
  );
});

describe('podStatusArbitrary', () => {
  it('makes statuses in canonical form', () => {
    fc.assert(
      fc.property(podStatusArbitrary, (status) => {
        expect(canonicalPodStatus(status, { strict: true })).toEqual(status);
      }),
    );
  });
});
