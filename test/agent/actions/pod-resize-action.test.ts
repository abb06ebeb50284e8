import { describe, expect, it } from 'vitest';
import type { Container, ResourceRequirementsInput } from 'kubelet-status-manager';
import {
  computePodResizeAction,
  type ContainerResize,
  containersToUpdate,
  isPodResized,
  resizeRestartMessage,
  startsResized,
} from '../../../src/agent/actions/pod-resize-action.ts';

type Requirements = ResourceRequirementsInput | undefined;
const actuatedOf = (container: Requirements, pod?: Requirements) => ({ resources: pod, ofContainer: () => container });
const run = { id: 'c1', name: 'app', state: 'running', createdAtMs: 0 } as const;
const policies = (cpu: string, memory: string) => [
  { resourceName: 'cpu', restartPolicy: cpu },
  { resourceName: 'memory', restartPolicy: memory },
];

describe('the resize of a running container', () => {
  const resizeOf = (resources: Requirements, current: Requirements, fields: Partial<Container> = {}) => {
    const container = { name: 'app', ...(resources && { resources }), ...fields };
    const resize = computePodResizeAction({ spec: {} }, container, run, actuatedOf(current));
    expect(resize?.containerID ?? 'c1').toBe('c1');
    return resize && { needsRestart: resize.needsRestart, changes: resize.changes.map((each) => Object.values(each)) };
  };

  it.each<[string, Requirements, Requirements, unknown[]]>([
    ['more cpu', { limits: { cpu: '2' } }, { limits: { cpu: '1' } }, [['cpu', false]]],
    ['less cpu', { limits: { cpu: '1' } }, { limits: { cpu: '2' } }, [['cpu', true]]],
    [
      'less of a request',
      { limits: { cpu: '2' }, requests: { cpu: '1' } },
      { limits: { cpu: '2000m' }, requests: { cpu: '2' } },
      [['cpu', true]],
    ],
    [
      'more of a limit and less of a request',
      { limits: { cpu: '3' }, requests: { cpu: '1' } },
      { limits: { cpu: '2' }, requests: { cpu: '2' } },
      [['cpu', false]],
    ],
    ['memory that it had not', { limits: { memory: '1Gi' } }, undefined, [['memory', false]]],
    ['no more memory', undefined, { requests: { memory: '1Gi' } }, [['memory', true]]],
    [
      'both',
      { limits: { cpu: '1', memory: '2Gi' } },
      { limits: { cpu: '2', memory: '1Gi' } },
      [
        ['memory', false],
        ['cpu', true],
      ],
    ],
  ])('has %s', (_, desired, current, changes) => {
    expect(resizeOf(desired, current)).toEqual({ needsRestart: false, changes });
  });

  it('is none if the amounts are equal', () => {
    expect(resizeOf({ limits: { cpu: '1' } }, { limits: { cpu: '1000m' } })).toBeUndefined();
    expect(resizeOf({ limits: { 'example.com/gpu': '1' } }, undefined)).toBeUndefined();
    expect(
      computePodResizeAction({ spec: {} }, { name: 'app', resources: { limits: { cpu: '1' } } }, run, undefined),
    ).toBeUndefined();
  });

  it.each([
    ['NotRequired', 'NotRequired', false],
    ['RestartContainer', 'NotRequired', true],
    ['NotRequired', 'RestartContainer', false],
  ])('of cpu restarts it as its policy says: cpu %s, memory %s', (cpu, memory, needsRestart) => {
    const desired = { limits: { cpu: '2', memory: '1Gi' } };
    const current = { limits: { cpu: '1', memory: '1Gi' } };
    expect(resizeOf(desired, current, { resizePolicy: policies(cpu, memory) })).toMatchObject({ needsRestart });
  });
});

it('containers are updated memory first, decreases before increases, and not those that restart', () => {
  const resize = (name: string, memory?: boolean, cpu?: boolean, needsRestart = false): ContainerResize => ({
    ...{ containerID: `${name}-0`, container: { name }, needsRestart },
    changes: [
      ...(memory === undefined ? [] : [{ resource: 'memory' as const, isDecrease: memory }]),
      ...(cpu === undefined ? [] : [{ resource: 'cpu' as const, isDecrease: cpu }]),
    ],
  });
  const [less, more] = [true, false];
  const order = containersToUpdate([
    resize('a', more, less),
    resize('b', less),
    resize('c', less, less),
    resize('d', undefined, more),
    resize('e', more, more),
    resize('f', less, less, true),
  ]);
  expect(order.map(({ containerID, container, resource }) => `${containerID} ${container.name} ${resource}`)).toEqual([
    ...['c-0 c memory', 'b-0 b memory', 'a-0 a memory', 'e-0 e memory'],
    ...['c-0 c cpu', 'a-0 a cpu', 'd-0 d cpu', 'e-0 e cpu'],
  ]);
});

it.each<[string, Requirements, Requirements, boolean]>([
  ['more', { requests: { cpu: '2' } }, { requests: { cpu: '1' } }, true],
  ['the same', { requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }, false],
  ['none, as before', undefined, undefined, false],
  ['some, and had none', { requests: { cpu: '1' } }, undefined, true],
])('a container or a pod is resized if it has %s', (_, desired, current, expected) => {
  const resources = desired && { resources: desired };
  const app = { name: 'app', ...resources };
  expect(startsResized({ spec: {} }, [app], actuatedOf(current))).toBe(expected);
  expect(isPodResized({ spec: { ...resources } }, actuatedOf(undefined, current))).toBe(expected);
  expect(startsResized({ spec: {} }, [app], undefined)).toBe(false);
  expect(startsResized({ spec: {} }, [], actuatedOf(current))).toBe(false);
  expect(isPodResized({ spec: { ...resources } }, undefined)).toBe(false);
  expect(isPodResized({}, actuatedOf(undefined, undefined))).toBe(false);
});

it('the message of the Killing event names the container', () => {
  expect(resizeRestartMessage({ name: 'app' })).toBe('Container app resize requires restart');
});
