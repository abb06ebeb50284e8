import { readFileSync } from 'node:fs';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { StatusManagerError } from '../../../src/shared/errors.ts';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import {
  applyNodePatch,
  applyPodPatch,
  applyPodStatusPatch,
} from '../../../src/status-manager/status/strategic-merge-apply.ts';
import { brokenPodStatusArbitrary, deepFreeze, podStatusArbitrary } from '../../support/arbitraries.ts';

interface Vector {
  readonly patch: object;
  readonly server?: object;
  readonly applied?: object;
}

const vectors = readFileSync(new URL('testdata/strategic-merge.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line, i) => [i + 1, JSON.parse(line) as Vector] as const)
  .filter(([, { applied }]) => applied !== undefined);

describe('applyPodStatusPatch', () => {
  it.each(vectors)(
    'makes the status of the Go code when the server has changed in the meantime, vector %i',
    (_, vector) => {
      const applied = applyPodStatusPatch(deepFreeze(vector.server!), deepFreeze(vector.patch));
      expect(canonicalPodStatus(applied, { strict: false })).toEqual(vector.applied);
    },
  );

  it('writes null where the API does', () => {
    const times = { lastProbeTime: null, lastTransitionTime: null };
    expect(applyPodStatusPatch({}, { conditions: [{ type: 'A', status: 'True', ...times, reason: null }] })).toEqual({
      conditions: [{ type: 'A', status: 'True', ...times }],
    });
    const timed = {
      conditions: [{ type: 'A', status: 'True', lastProbeTime: '2026-01-02T03:04:05Z', lastTransitionTime: null }],
    };
    expect(applyPodStatusPatch(timed, { conditions: [{ type: 'A', lastProbeTime: null }] })).toEqual({
      conditions: [{ type: 'A', status: 'True', ...times }],
    });
  });

  it('merges into the first of two elements with one key and deletes both', () => {
    const status = deepFreeze({
      conditions: [{ type: 'A', status: 'True' }, { type: 'B' }, { type: 'A', status: 'False' }],
    });
    expect(applyPodStatusPatch(status, { conditions: [{ type: 'A', reason: 'R' }] }).conditions).toEqual([
      { type: 'A', status: 'True', reason: 'R' },
      { type: 'A', status: 'False' },
      { type: 'B' },
    ]);
    expect(applyPodStatusPatch(status, { conditions: [{ $patch: 'delete', type: 'A' }] }).conditions).toEqual([
      { type: 'B' },
    ]);
  });

  it('counts a new element as standing where a deletion left a place free', () => {
    const status = { conditions: [{ type: 'server' }, { type: 'B' }, { type: 'gone' }] };
    const patch = {
      '$setElementOrder/conditions': [{ type: 'new' }, { type: 'B' }],
      conditions: [{ type: 'new' }, { $patch: 'delete', type: 'gone' }],
    };
    expect(applyPodStatusPatch(status, patch).conditions.map(({ type }) => type)).toEqual(['server', 'new', 'B']);
  });

  it('pollutes no prototype', () => {
    const patch = JSON.parse(
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"resources":{"__proto__":{"polluted":1}}}',
    );
    const applied = applyPodStatusPatch({ resources: {} }, deepFreeze(patch));
    expect(Object.getPrototypeOf(applied)).toBe(Object.prototype);
    expect(Object.getPrototypeOf(applied.resources)).toBe(Object.prototype);
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('changes neither argument, and throws nothing but a StatusManagerError', () => {
    fc.assert(
      fc.property(brokenPodStatusArbitrary, fc.oneof(brokenPodStatusArbitrary, podStatusArbitrary), (status, patch) => {
        try {
          applyPodStatusPatch(deepFreeze(status) as object, deepFreeze(patch) as object);
        } catch (error) {
          expect(error).toBeInstanceOf(StatusManagerError);
        }
      }),
    );
  });
});

describe('applyPodPatch', () => {
  const cases: { name: string; pod: object; patch: object; expected: object }[] = [
    {
      name: 'labels and annotations are maps',
      pod: { metadata: { labels: { a: '1', b: '2' }, annotations: { x: 'y' } } },
      patch: { metadata: { labels: { a: null, c: '3' }, annotations: null } },
      expected: { metadata: { labels: { b: '2', c: '3' } } },
    },
    {
      name: 'finalizers are a set',
      pod: { metadata: { finalizers: ['a', 'b'] } },
      patch: { metadata: { finalizers: ['c', 'a'] } },
      expected: { metadata: { finalizers: ['c', 'a', 'b'] } },
    },
    {
      name: 'finalizers are deleted by name',
      pod: { metadata: { finalizers: ['a', 'b', 'c'] } },
      patch: {
        metadata: {
          finalizers: ['d'],
          '$deleteFromPrimitiveList/finalizers': ['b'],
          '$setElementOrder/finalizers': ['d', 'c'],
        },
      },
      expected: { metadata: { finalizers: ['d', 'a', 'c'] } },
    },
    {
      name: 'ownerReferences merge by uid',
      pod: { metadata: { ownerReferences: [{ uid: '1', name: 'a' }] } },
      patch: {
        metadata: {
          ownerReferences: [
            { uid: '2', name: 'b' },
            { uid: '1', name: 'z' },
          ],
        },
      },
      expected: {
        metadata: {
          ownerReferences: [
            { uid: '2', name: 'b' },
            { uid: '1', name: 'z' },
          ],
        },
      },
    },
    {
      name: 'containers merge by name, what is in them by its own key',
      pod: {
        spec: {
          containers: [
            {
              name: 'a',
              image: 'i',
              args: ['x', 'y'],
              env: [
                { name: 'E', value: '1' },
                { name: 'F', value: '2' },
              ],
              ports: [{ containerPort: 80, protocol: 'TCP' }, { containerPort: 81 }],
              volumeMounts: [{ name: 'v', mountPath: '/m' }],
            },
            { name: 'b' },
          ],
        },
      },
      patch: {
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
          containers: [
            {
              name: 'a',
              image: 'j',
              args: ['z'],
              env: [
                { name: 'F', value: '3' },
                { $patch: 'delete', name: 'E' },
              ],
              ports: [{ containerPort: 80, name: 'w' }],
              volumeMounts: [{ mountPath: '/m', readOnly: true }],
            },
          ],
        },
      },
      expected: {
        spec: {
          containers: [
            { name: 'b' },
            {
              name: 'a',
              image: 'j',
              args: ['z'],
              env: [{ name: 'F', value: '3' }],
              ports: [{ containerPort: 80, protocol: 'TCP', name: 'w' }, { containerPort: 81 }],
              volumeMounts: [{ name: 'v', mountPath: '/m', readOnly: true }],
            },
          ],
        },
      },
    },
    {
      name: '$setElementOrder alone orders; what it does not name keeps its place',
      pod: { spec: { containers: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, { name: 'd' }] } },
      patch: { spec: { '$setElementOrder/containers': [{ name: 'd' }, { name: 'b' }] } },
      expected: { spec: { containers: [{ name: 'a' }, { name: 'c' }, { name: 'd' }, { name: 'b' }] } },
    },
    {
      name: 'tolerations are replaced',
      pod: { spec: { tolerations: [{ key: 'a' }, { key: 'b' }] } },
      patch: { spec: { tolerations: [{ key: 'c' }] } },
      expected: { spec: { tolerations: [{ key: 'c' }] } },
    },
    {
      name: '$retainKeys drops what it does not name',
      pod: {
        spec: {
          volumes: [
            { name: 'v', emptyDir: {} },
            { name: 'w', hostPath: { path: '/w' } },
          ],
        },
      },
      patch: { spec: { volumes: [{ $retainKeys: ['name', 'configMap'], name: 'v', configMap: { name: 'c' } }] } },
      expected: {
        spec: {
          volumes: [
            { name: 'v', configMap: { name: 'c' } },
            { name: 'w', hostPath: { path: '/w' } },
          ],
        },
      },
    },
    {
      name: '$patch: replace in a list keeps elements with the same key, as of the two addresses of a dual-stack Node',
      pod: { status: { addresses: [{ type: 'Hostname', address: 'a' }] } },
      patch: {
        status: {
          addresses: [
            { type: 'InternalIP', address: 'fd00::1' },
            { type: 'InternalIP', address: '10.0.0.2' },
            { $patch: 'replace' },
          ],
        },
      },
      expected: {
        status: {
          addresses: [
            { type: 'InternalIP', address: 'fd00::1' },
            { type: 'InternalIP', address: '10.0.0.2' },
          ],
        },
      },
    },
    {
      name: '$patch: replace in a list leaves only the elements of the patch',
      pod: { spec: { containers: [{ name: 'a' }, { name: 'b' }] } },
      patch: { spec: { containers: [{ name: 'c', image: 'x' }, { $patch: 'replace' }] } },
      expected: { spec: { containers: [{ name: 'c', image: 'x' }] } },
    },
    {
      name: '$patch: replace in an object leaves only the fields of the patch',
      pod: { spec: { nodeSelector: { a: '1' } } },
      patch: { spec: { nodeSelector: { $patch: 'replace', b: '2' } } },
      expected: { spec: { nodeSelector: { b: '2' } } },
    },
    {
      name: '$patch: delete empties an object',
      pod: { spec: { nodeSelector: { a: '1' } } },
      patch: { spec: { nodeSelector: { $patch: 'delete' } } },
      expected: { spec: { nodeSelector: {} } },
    },
    {
      name: 'what is new comes without nulls and directives',
      pod: { spec: {} },
      patch: {
        spec: {
          nodeSelector: { a: null, b: '1' },
          hostAliases: [
            { $patch: 'delete', ip: '1' },
            { ip: '2', hostnames: null },
          ],
          securityContext: { $patch: 'delete' },
        },
      },
      expected: { spec: { nodeSelector: { b: '1' }, hostAliases: [{ ip: '2' }] } },
    },
    {
      name: 'a list of unknown name is replaced',
      pod: { x: [{ name: 'a' }] },
      patch: { x: [{ name: 'b' }] },
      expected: { x: [{ name: 'b' }] },
    },
  ];

  it.each(cases)('$name', ({ pod, patch, expected }) => {
    expect(applyPodPatch(deepFreeze(pod), deepFreeze(patch))).toEqual(expected);
  });

  const malformed: { name: string; patch: object; path: string; expected: string }[] = [
    {
      name: 'an unknown $patch of an object',
      patch: { spec: { $patch: 'merge' } },
      path: 'patch.spec.$patch',
      expected: '`replace` or `delete`',
    },
    {
      name: 'an unknown $patch of an element',
      patch: { spec: { containers: [{ $patch: 'merge', name: 'a' }] } },
      path: 'patch.spec.containers.$patch',
      expected: '`replace` or `delete` in an element',
    },
    {
      name: 'a deletion without key',
      patch: { spec: { containers: [{ $patch: 'delete' }] } },
      path: 'patch.spec.containers',
      expected: 'a list of objects with `name`',
    },
    {
      name: 'an element without key',
      patch: { spec: { containers: [{ image: 'x' }] } },
      path: 'patch.spec.containers',
      expected: 'a list of objects with `name`',
    },
    {
      name: 'an element that is not an object',
      patch: { spec: { containers: ['a'] } },
      path: 'patch.spec.containers',
      expected: 'a list of objects with `name`',
    },
    {
      name: 'elements in another order than $setElementOrder says',
      patch: {
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }, { name: 'a' }],
          containers: [{ name: 'a' }, { name: 'b' }],
        },
      },
      path: 'patch.spec.containers',
      expected: 'in the order that $setElementOrder gives',
    },
    {
      name: 'an order that is not a list',
      patch: { spec: { '$setElementOrder/containers': 'a' } },
      path: 'patch.spec.containers',
      expected: 'ordered by a list',
    },
    {
      name: 'deletions that are no list',
      patch: { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      path: 'patch.metadata.finalizers',
      expected: 'stripped of a list',
    },
    {
      name: 'a field that $retainKeys does not name',
      patch: { spec: { $retainKeys: ['containers'], nodeName: 'n' } },
      path: 'patch.spec.$retainKeys',
      expected: 'a list that names `nodeName`',
    },
    {
      name: 'a $retainKeys that is no list',
      patch: { spec: { $retainKeys: 'containers' } },
      path: 'patch.spec.$retainKeys',
      expected: 'a list',
    },
    { name: 'a patch that is no object', patch: [], path: 'patch', expected: 'an object' },
  ];

  it.each(malformed)('refuses $name', ({ patch, path, expected }) => {
    const pod = deepFreeze({ metadata: { finalizers: ['a'] }, spec: { containers: [{ name: 'a' }, { name: 'b' }] } });
    const message = `Expected \`${path}\` to be ${expected}`;
    expect(() => applyPodPatch(pod, patch)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', path, message }),
    );
  });
});

describe('applyNodePatch', () => {
  it('merges conditions and addresses by type and replaces taints', () => {
    const node = deepFreeze({
      spec: { taints: [{ key: 'a', effect: 'NoSchedule' }], podCIDRs: ['a', 'b'] },
      status: {
        conditions: [{ type: 'Ready', status: 'True', reason: 'R' }],
        addresses: [
          { type: 'InternalIP', address: '1' },
          { type: 'Hostname', address: 'h' },
        ],
        capacity: { cpu: '1' },
      },
    });
    const patch = {
      spec: { taints: [{ key: 'b', effect: 'NoExecute' }], podCIDRs: ['c'] },
      status: {
        conditions: [
          { type: 'Ready', status: 'False' },
          { type: 'X', status: 'True' },
        ],
        addresses: [{ type: 'Hostname', address: 'g' }],
        capacity: { memory: '1' },
      },
    };
    expect(applyNodePatch(node, patch)).toEqual({
      spec: { taints: [{ key: 'b', effect: 'NoExecute' }], podCIDRs: ['c', 'a', 'b'] },
      status: {
        conditions: [
          { type: 'Ready', status: 'False', reason: 'R' },
          { type: 'X', status: 'True' },
        ],
        addresses: [
          { type: 'InternalIP', address: '1' },
          { type: 'Hostname', address: 'g' },
        ],
        capacity: { cpu: '1', memory: '1' },
      },
    });
  });
});
