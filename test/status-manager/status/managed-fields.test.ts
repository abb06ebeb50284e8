import { describe, expect, it } from 'vitest';
import { managersOf } from '../../../src/status-manager/status/managed-fields.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';

const podOwnedBy = (owners: Readonly<Record<string, unknown>>): Pod => ({
  metadata: {
    managedFields: Object.entries(owners).map(([manager, status]) => ({ manager, fieldsV1: { 'f:status': status } })),
  },
});
const ownersOf = (fields: unknown, changes: object) => managersOf(podOwnedBy({ m: fields }), changes);

describe('managersOf', () => {
  it.each<[string, unknown, object]>([
    ['a field', { 'f:phase': {} }, { phase: 'Running' }],
    ['a field that the patch takes away', { 'f:reason': {} }, { reason: null }],
    ['the complete status', {}, { phase: 'Running' }],
    ['a field of a field', { 'f:resources': { 'f:limits': {} } }, { resources: { limits: { cpu: '1' } } }],
    [
      'something beneath a field that is written as a whole',
      { 'f:resources': { 'f:limits': {} } },
      { resources: null },
    ],
    [
      'a field of an element',
      { 'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:type': {}, 'f:status': {} } } },
      { conditions: [{ type: 'Ready', status: 'True' }] },
    ],
    [
      'an element that the patch deletes',
      { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:type': {} } } },
      { conditions: [{ $patch: 'delete', type: 'Ready' }] },
    ],
    ['a complete element', { 'f:podIPs': { 'k:{"ip":"10.0.0.1"}': {} } }, { podIPs: [{ ip: '10.0.0.1', other: 1 }] }],
    ['a complete list', { 'f:podIPs': {} }, { podIPs: [{ ip: '10.0.0.1' }] }],
    [
      'one of several elements',
      { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:status': {} }, 'k:{"type":"x"}': { 'f:status': {} } } },
      { conditions: ['no element', { type: 'y', status: 'True' }, { type: 'x', status: 'True' }] },
    ],
    ['one of several fields', { 'f:phase': {} }, { reason: 'r', phase: 'Failed', message: 'm' }],
  ])('finds the owner of %s', (_case, fields, changes) => {
    expect(ownersOf(fields, changes)).toEqual(['m']);
  });

  it.each<[string, unknown, object]>([
    ['another field', { 'f:phase': {} }, { reason: 'r' }],
    ['another field of a field', { 'f:resources': { 'f:requests': {} } }, { resources: { limits: {} } }],
    [
      'another element',
      { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:status': {} } } },
      { conditions: [{ type: 'x', status: 'True' }] },
    ],
    ['another element with two keys', { 'f:x': { 'k:{"a":1,"b":2}': { 'f:c': {} } } }, { x: [{ a: 1, b: 3, c: 1 }] }],
    [
      'another field of the element',
      { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:type': {}, 'f:reason': {} } } },
      { conditions: [{ type: 'Ready', status: 'True' }] },
    ],
    [
      'only the key of the element, as everybody who writes it',
      { 'f:conditions': { 'k:{"type":"Ready"}': { 'f:type': {} } } },
      { conditions: [{ type: 'Ready', status: 'True' }] },
    ],
    ['elements with a key that is no JSON', { 'f:x': { 'k:{': { 'f:c': {} } } }, { x: [{ c: 1 }] }],
    ['elements with a key that is no object', { 'f:x': { 'k:null': { 'f:c': {} } } }, { x: [{ c: 1 }] }],
    ['values of a set', { 'f:x': { 'v:"a"': {}, '.': {} } }, { x: [{ c: 1 }] }],
    ['no fields of the status', undefined, { phase: 'Running' }],
    ['fields that are no object', { 'f:phase': 7 }, { phase: 'Running' }],
  ])('does not count who owns %s', (_case, fields, changes) => {
    expect(ownersOf(fields, changes)).toEqual([]);
  });

  it('names each manager once', () => {
    const entry = { manager: 'kubelet', fieldsV1: { 'f:status': { 'f:phase': {} } } };
    const managedFields = [
      entry,
      { ...entry, manager: 'other' },
      entry,
      { manager: 'spec', fieldsV1: { 'f:spec': {} } },
    ];
    const pod: Pod = { metadata: { managedFields } };
    expect(managersOf(pod, { phase: 'Running' })).toEqual(['kubelet', 'other']);
  });

  it.each<[string, unknown]>([
    ['no metadata', {}],
    ['no managedFields', { metadata: {} }],
    ['managedFields that are no list', { metadata: { managedFields: {} } }],
    ['entries that are no objects', { metadata: { managedFields: [null, 7, { manager: 'm' }, { fieldsV1: null }] } }],
  ])('finds nobody: %s', (_case, pod) => {
    expect(managersOf(pod as Pod, { phase: 'Running' })).toEqual([]);
  });
});
