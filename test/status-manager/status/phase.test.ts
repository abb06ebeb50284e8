import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { getPhase, isPodPhaseTerminal } from '../../../src/status-manager/status/phase.ts';
import type { ContainerStatusInput, Pod } from '../../../src/kube/objects/types.ts';
import { crashed, ready, running, terminated, waiting } from '../../support/container-statuses.ts';
import { deepFreeze } from '../../support/arbitraries.ts';
import { hasSharedTraces, parseJSONLines, readSharedTrace, whereSharedTraces } from '../../support/shared-traces.ts';

interface Row {
  readonly pod: Pod;
  readonly containerStatuses: readonly ContainerStatusInput[] | null;
  readonly podIsTerminal: boolean;
  readonly podHasInitialized: boolean;
  readonly phase: string;
}

/** The rows with another result in the kubelet. */
function divergences(rows: readonly Row[]): readonly unknown[] {
  return rows
    .map((row) => ({ row, got: getPhase(row.pod, row.containerStatuses, row.podIsTerminal, row.podHasInitialized) }))
    .filter(({ row, got }) => got !== row.phase);
}

describe('getPhase', () => {
  it('gives what the kubelet gives for rows that meet each of its branches', () => {
    const rows = parseJSONLines<Row>(readFileSync(new URL('testdata/phase.jsonl', import.meta.url), 'utf8'));
    expect(rows.length).toBeGreaterThan(50);
    expect(divergences(deepFreeze(rows))).toEqual([]);
  });

  it.skipIf(!hasSharedTraces)(`gives what the kubelet gives for all recorded rows${whereSharedTraces}`, () => {
    const rows = readSharedTrace<Row>('phase.jsonl.gz');
    expect(rows).toHaveLength(3_000);
    expect(divergences(rows)).toEqual([]);
  });

  interface Case {
    readonly name: string;
    readonly restartPolicy?: string;
    readonly sidecar?: ContainerStatusInput | null;
    readonly init?: ContainerStatusInput | null;
    readonly statuses: readonly ContainerStatusInput[];
    readonly isStatic?: boolean;
    readonly podIsTerminal?: boolean;
    readonly podHasInitialized?: boolean;
    readonly phase: string;
  }

  const restartingAll = { terminated: { exitCode: 1, reason: 'RestartingAllContainers' } };
  const cases: readonly Case[] = [
    { name: 'all running', statuses: [ready('a'), ready('b')], phase: 'Running' },
    { name: 'one unknown', statuses: [ready('a')], phase: 'Pending' },
    { name: 'one with an empty state', statuses: [ready('a'), { name: 'b', state: {} }], phase: 'Pending' },
    {
      name: 'one with an empty state after a termination',
      statuses: [ready('a'), { name: 'b', state: {}, lastState: { terminated: { exitCode: 0 } } }],
      phase: 'Pending',
    },
    { name: 'one waiting', statuses: [ready('a'), waiting('b')], phase: 'Pending' },
    { name: 'one running, one crashed and waiting', statuses: [ready('a'), crashed('b', 1)], phase: 'Running' },
    {
      name: 'one running, one failed for good',
      restartPolicy: 'Never',
      statuses: [ready('a'), terminated('b', 1)],
      phase: 'Running',
    },
    { name: 'all succeeded, restarting', statuses: [terminated('a', 0), terminated('b', 0)], phase: 'Running' },
    {
      name: 'all succeeded, OnFailure',
      restartPolicy: 'OnFailure',
      statuses: [terminated('a', 0), terminated('b', 0)],
      phase: 'Succeeded',
    },
    {
      name: 'one failed, OnFailure',
      restartPolicy: 'OnFailure',
      statuses: [terminated('a', 0), terminated('b', 1)],
      phase: 'Running',
    },
    {
      name: 'one failed, Never',
      restartPolicy: 'Never',
      statuses: [terminated('a', 0), terminated('b', 1)],
      phase: 'Failed',
    },
    {
      name: 'waiting after success is no success',
      restartPolicy: 'Never',
      statuses: [terminated('a', 0), crashed('b', 0)],
      phase: 'Failed',
    },
    { name: 'stopped for good, one unknown', restartPolicy: 'Never', statuses: [terminated('a', 0)], phase: 'Pending' },
    {
      name: 'terminal with restarts left, all succeeded',
      podIsTerminal: true,
      statuses: [terminated('a', 0), terminated('b', 0)],
      phase: 'Succeeded',
    },
    {
      name: 'terminal with restarts left, one failed',
      podIsTerminal: true,
      statuses: [terminated('a', 0), terminated('b', 1)],
      phase: 'Failed',
    },
    {
      name: 'a static pod is never terminal',
      isStatic: true,
      podIsTerminal: true,
      statuses: [terminated('a', 0), terminated('b', 0)],
      phase: 'Running',
    },
    {
      name: 'running takes precedence over terminal',
      podIsTerminal: true,
      statuses: [ready('a'), terminated('b', 0)],
      phase: 'Running',
    },
    {
      name: 'all containers are being restarted',
      restartPolicy: 'Never',
      statuses: [terminated('a', 0), { name: 'b', state: restartingAll }],
      phase: 'Running',
    },
    {
      name: 'all containers are being restarted, waiting',
      restartPolicy: 'Never',
      statuses: [terminated('a', 0), waiting('b', { lastState: restartingAll })],
      phase: 'Running',
    },
    { name: 'init container unknown', init: null, statuses: [], phase: 'Pending' },
    { name: 'init container running', init: running('i'), statuses: [ready('a'), ready('b')], phase: 'Pending' },
    {
      name: 'init container with an empty state',
      init: { name: 'i', state: {} },
      statuses: [ready('a'), ready('b')],
      phase: 'Pending',
    },
    { name: 'init container waiting', init: waiting('i'), statuses: [ready('a'), ready('b')], phase: 'Pending' },
    {
      name: 'init container succeeded',
      init: terminated('i', 0),
      statuses: [ready('a'), ready('b')],
      phase: 'Running',
    },
    {
      name: 'init container failed for good',
      restartPolicy: 'Never',
      init: terminated('i', 1),
      statuses: [ready('a'), ready('b')],
      phase: 'Failed',
    },
    {
      name: 'init container failed, restartable',
      init: terminated('i', 1),
      statuses: [waiting('a'), waiting('b')],
      phase: 'Pending',
    },
    {
      name: 'init container failed for good, waiting',
      restartPolicy: 'Never',
      init: crashed('i', 1),
      statuses: [ready('a'), ready('b')],
      phase: 'Failed',
    },
    {
      name: 'init container failed while all containers are restarted',
      restartPolicy: 'Never',
      init: { name: 'i', state: restartingAll },
      statuses: [waiting('a')],
      phase: 'Pending',
    },
    { name: 'sidecar unknown', sidecar: null, statuses: [ready('a'), ready('b')], phase: 'Pending' },
    {
      name: 'sidecar running, not started',
      sidecar: running('s'),
      statuses: [ready('a'), ready('b')],
      phase: 'Pending',
    },
    {
      name: 'sidecar running, not started, pod initialised',
      sidecar: running('s'),
      podHasInitialized: true,
      statuses: [ready('a'), ready('b')],
      phase: 'Running',
    },
    { name: 'sidecar started', sidecar: ready('s'), statuses: [ready('a'), ready('b')], phase: 'Running' },
    {
      name: 'sidecar running, regular containers done',
      restartPolicy: 'Never',
      sidecar: ready('s'),
      statuses: [terminated('a', 0), terminated('b', 0)],
      phase: 'Running',
    },
    {
      name: 'sidecar failed',
      restartPolicy: 'Never',
      sidecar: terminated('s', 1),
      statuses: [terminated('a', 0), terminated('b', 0)],
      phase: 'Succeeded',
    },
    {
      name: 'sidecar crashed and waiting',
      sidecar: crashed('s', 1),
      statuses: [ready('a'), ready('b')],
      phase: 'Running',
    },
    {
      name: 'sidecar waiting, pod initialised',
      sidecar: waiting('s'),
      podHasInitialized: true,
      statuses: [ready('a'), ready('b')],
      phase: 'Pending',
    },
    {
      name: 'sidecar with an empty state, pod initialised',
      sidecar: { name: 's', state: {} },
      podHasInitialized: true,
      statuses: [ready('a'), ready('b')],
      phase: 'Pending',
    },
  ];

  it.each(cases)('$name: $phase', (row) => {
    const { restartPolicy = 'Always', sidecar, init, isStatic, statuses } = row;
    const pod: Pod = {
      metadata: { annotations: isStatic ? { 'kubernetes.io/config.source': 'file' } : undefined },
      spec: {
        restartPolicy,
        initContainers: [
          ...(init === undefined ? [] : [{ name: 'i' }]),
          ...(sidecar === undefined ? [] : [{ name: 's', restartPolicy: 'Always' }]),
        ],
        containers: [{ name: 'a' }, { name: 'b' }],
      },
    };
    const all = [...(init ? [init] : []), ...(sidecar ? [sidecar] : []), ...statuses];
    expect(getPhase(pod, deepFreeze(all), row.podIsTerminal ?? false, row.podHasInitialized ?? false)).toBe(row.phase);
  });

  it('is Pending for a pod of which nothing is known', () => {
    expect(getPhase({}, undefined, false, false)).toBe('Pending');
    expect(getPhase({}, null, true, true)).toBe('Pending');
  });
});

describe('isPodPhaseTerminal', () => {
  it.each([
    ['Succeeded', true],
    ['Failed', true],
    ['Running', false],
    ['Pending', false],
    ['Unknown', false],
    ['', false],
    [undefined, false],
  ])('%s: %s', (phase, expected) => {
    expect(isPodPhaseTerminal(phase)).toBe(expected);
  });
});
