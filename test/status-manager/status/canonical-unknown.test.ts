import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function strict(input: unknown): PodStatus {
  return canonicalPodStatus(deepFreeze(input), { strict: true });
}

const unknown = { 'x-new': { list: [1, 'a', null, { b: [] }], empty: '', zero: 0, no: false } };

describe('canonicalPodStatus: unknown fields', () => {
  it('are kept as they came at every level', () => {
    const container = {
      name: 'c',
      state: { running: { startedAt: null, ...unknown }, ...unknown },
      lastState: { terminated: { exitCode: 0, startedAt: null, finishedAt: null, ...unknown }, ...unknown },
      ready: false,
      restartCount: 0,
      image: '',
      imageID: '',
      resources: { claims: [{ name: 'a', ...unknown }], ...unknown },
      volumeMounts: [{ name: 'v', mountPath: '/v', volumeStatus: { image: { ...unknown }, ...unknown }, ...unknown }],
      user: { linux: { uid: 0, gid: 0, ...unknown }, ...unknown },
      allocatedResourcesStatus: [{ name: 'n', resources: [{ resourceID: 'r', ...unknown }], ...unknown }],
      ...unknown,
    };
    const input = {
      conditions: [{ type: 'a', status: '', lastProbeTime: null, lastTransitionTime: null, ...unknown }],
      podIPs: [{ ip: 'a', ...unknown }],
      hostIPs: [{ ip: 'a', ...unknown }],
      containerStatuses: [container],
      initContainerStatuses: [{ ...container, state: { waiting: { ...unknown } } }],
      ephemeralContainerStatuses: [container],
      resourceClaimStatuses: [{ name: 'a', ...unknown }],
      extendedResourceClaimStatus: {
        requestMappings: [{ containerName: '', resourceName: '', requestName: '', ...unknown }],
        resourceClaimName: '',
        ...unknown,
      },
      resources: { ...unknown },
      nodeAllocatableResourceClaimStatuses: [
        {
          resourceClaimName: '',
          mapping: [{ name: 'a', quantity: null, ...unknown }],
          overhead: [{ name: 'a', ...unknown }],
          ...unknown,
        },
      ],
      volumeHealth: [
        { name: 'v', lastTransitionTime: null, healthConditions: [{ status: '', reason: '', ...unknown }], ...unknown },
      ],
      ...unknown,
    };
    expect(strict(input)).toEqual(input);
  });

  it('are copied: changing the input later changes nothing', () => {
    const input = { 'x-new': { list: [{ a: 1 }] } };
    const status = canonicalPodStatus(input, { strict: true });
    input['x-new'].list[0]!.a = 2;
    expect(status).toEqual({ 'x-new': { list: [{ a: 1 }] } });
  });

  it('that are undefined are left out, in lists they are null, Dates are texts', () => {
    expect(
      strict({ a: undefined, b: { c: undefined }, d: [undefined], e: new Date(0), f: new Date(Number.NaN) }),
    ).toEqual({
      b: {},
      d: [null],
      e: '1970-01-01T00:00:00.000Z',
    });
  });

  it('that are null are absent: as a value they were a change at each set, which no server ever showed', () => {
    const input = {
      a: null,
      b: { c: null, d: [null, { e: null }] },
      conditions: [{ type: 'a', 'x-new': null }],
      containerStatuses: [{ name: 'c', 'x-new': { 'x-inner': null } }],
    };
    for (const isStrict of [true, false]) {
      const status = canonicalPodStatus(deepFreeze(input), { strict: isStrict });
      expect(status).toMatchObject({ b: { d: [null, {}] } });
      expect(Object.keys(status)).toEqual(['conditions', 'containerStatuses', 'b']);
      expect(status).toHaveProperty('b', { d: [null, {}] });
      expect(status.conditions?.[0]).not.toHaveProperty('x-new');
      expect(status.containerStatuses?.[0]).toHaveProperty('x-new', {});
    }
  });

  it.each<[string, unknown]>([
    ['a function', () => {}],
    ['a symbol', Symbol('s')],
    ['a bigint', 7n],
    ['NaN', Number.NaN],
    ['infinity', Number.POSITIVE_INFINITY],
  ])('that are %s are refused, also deep inside', (_, value) => {
    for (const field of [value, [value], { a: { b: [value] } }])
      expect(() => strict({ conditions: [{ type: 'a', 'x-new': field }] })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'status.conditions[0].x-new' }),
      );
  });

  it('only own fields are taken', () => {
    const input = Object.create({ inherited: { a: 1 } }) as Record<string, unknown>;
    input['own'] = 1;
    expect(strict(input)).toEqual({ own: 1 });
  });

  it('an object without prototype is an object', () => {
    const input = Object.assign(Object.create(null) as object, { phase: 'Running', 'x-new': 1 });
    expect(strict(input)).toEqual({ phase: 'Running', 'x-new': 1 });
  });
});

describe('canonicalPodStatus: hostile input', () => {
  it('keeps __proto__ and constructor as fields, and pollutes no prototype', () => {
    const hostile = '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}}';
    const input: unknown = JSON.parse(
      `{"__proto__": {"polluted": 1}, "constructor": 1, "x-new": ${hostile}, "resources": {"limits": {"__proto__": "1", "constructor": "2"}},
        "conditions": [{"type": "__proto__", "__proto__": {"polluted": 1}}], "containerStatuses": [{"name": "__proto__", "state": ${hostile}}]}`,
    );
    for (const isStrict of [true, false]) {
      const status = canonicalPodStatus(input, { strict: isStrict });
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
      expect((status as { polluted?: unknown }).polluted).toBeUndefined();
      expect(Object.getPrototypeOf(status)).toBe(Object.prototype);
      expect(Object.keys(status)).toContain('__proto__');
      expect(Object.entries(status.resources!.limits!)).toEqual([
        ['__proto__', '1'],
        ['constructor', '2'],
      ]);
      expect(Object.keys(status.conditions![0]!)).toContain('__proto__');
      expect(JSON.parse(JSON.stringify(status))['x-new']).toEqual(JSON.parse(hostile));
    }
  });

  it.each([65, 66])('takes 64 levels below an unknown field and no more: %i objects in all', (levels) => {
    let deep: unknown = 'bottom';
    for (let i = 0; i < levels; i++) deep = i % 2 === 0 ? { deep } : [deep];
    const read = () => strict({ 'x-new': deep });
    if (levels === 65) expect(read()).toEqual({ 'x-new': deep });
    else expect(read).toThrow(expect.objectContaining({ path: 'status.x-new' }));
  });

  it('refuses a cycle', () => {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    expect(() => canonicalPodStatus({ 'x-new': cycle }, { strict: true })).toThrow(
      expect.objectContaining({ path: 'status.x-new' }),
    );
  });

  it('reads huge lists and texts', () => {
    const count = 20_000;
    const containers = Array.from({ length: count }, (_, i) => ({ name: `c${i % (count / 2)}` }));
    const status = strict({ containerStatuses: containers, message: 'x'.repeat(1_000_000) });
    expect(status.containerStatuses).toHaveLength(count / 2);
    expect(status.message).toHaveLength(1_000_000);
  });
});
