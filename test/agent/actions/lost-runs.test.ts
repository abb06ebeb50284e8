import { describe, expect, it } from 'vitest';
import type { Container, ContainerStatusInput, Pod, PodSpec, PodStatusInput } from 'kubelet-status-manager';
import { lostRuns } from '../../../src/agent/actions/lost-runs.ts';
import type { RuntimePodStatus } from '../../../src/node/runtime/runtime-pod-status.ts';

const job: Container = { name: 'job', image: 'job:1' };
const other: Container = { name: 'other', image: 'other:1' };
const finishedAt = '2026-01-02T03:04:05Z';
const finishedAtMs = Date.parse(finishedAt);
const nothing: RuntimePodStatus = { sandboxes: [], containers: [] };
const sandboxOf = (change: object = {}): RuntimePodStatus => ({
  sandboxes: [{ id: 'sandbox', ready: true, createdAtMs: finishedAtMs, ...change }],
  containers: [],
});

const ended = (exitCode?: number, change: object = {}): ContainerStatusInput => ({
  name: 'job',
  state: { terminated: { exitCode, containerID: 'fake://job', finishedAt, ...change } },
});
const podOf = (spec: Partial<PodSpec>): Pod => ({ spec: { containers: [other], ...spec } });
const regular = (spec: Partial<PodSpec>): Pod => podOf({ containers: [other, job], ...spec });

const namesOf = (pod: Pod, status: PodStatusInput | undefined, runtimeStatus = nothing): string[] =>
  lostRuns(pod, runtimeStatus, status).map(({ name }) => name);

describe('a lost run of a regular container', () => {
  it.each<[string, Partial<PodSpec>, number, boolean]>([
    ['is over in a pod that never restarts', { restartPolicy: 'Never' }, 1, true],
    ['is over if it has succeeded in a pod that restarts on failure', { restartPolicy: 'OnFailure' }, 0, true],
    ['is not over if it has failed there', { restartPolicy: 'OnFailure' }, 1, false],
    ['is not over in a pod that always restarts', {}, 0, false],
    ['is over by its own restart policy', { containers: [other, { ...job, restartPolicy: 'Never' }] }, 1, true],
    [
      'is not over in a pod whose containers may all restart',
      {
        restartPolicy: 'Never',
        containers: [
          job,
          {
            ...other,
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
          },
        ],
      },
      0,
      false,
    ],
  ])('%s', (_, spec, exitCode, isOver) => {
    expect(namesOf(regular(spec), { containerStatuses: [ended(exitCode)] })).toEqual(isOver ? ['job'] : []);
  });

  it('is one that has exited, with what the status shows of it', () => {
    const pod = regular({ restartPolicy: 'Never' });
    const status = { containerStatuses: [{ name: 'other', state: { running: {} } }, ended(3, { reason: 'Error' })] };
    const run = { name: 'job', state: 'exited', createdAtMs: 0, finishedAtMs, exitCode: 3, reason: 'Error' };
    expect(lostRuns(pod, nothing, status)).toEqual([{ ...run, id: 'fake://job' }]);
    expect(lostRuns(pod, sandboxOf(), status)).toEqual([{ ...run, id: 'fake://job', sandboxID: 'sandbox' }]);
    const { containerStatuses } = {
      containerStatuses: [{ name: 'job', containerID: 'fake://x', state: { terminated: {} } }],
    };
    expect(lostRuns(pod, nothing, { containerStatuses })).toEqual([
      { id: 'fake://x', name: 'job', state: 'exited', createdAtMs: 0, finishedAtMs: 0, exitCode: 0 },
    ]);
    expect(lostRuns(pod, nothing, { containerStatuses: [{ name: 'job', state: { terminated: {} } }] })).toMatchObject([
      { id: '' },
    ]);
  });

  it('is none if the runtime knows the container, if nothing was reported, or if it had not ended', () => {
    const pod = regular({ restartPolicy: 'Never' });
    const known = { id: 'fake://2', name: 'job', state: 'created', createdAtMs: 0 } as const;
    expect(namesOf(pod, { containerStatuses: [ended(0)] }, { ...nothing, containers: [known] })).toEqual([]);
    expect(namesOf(pod, undefined)).toEqual([]);
    expect(namesOf(pod, {})).toEqual([]);
    expect(namesOf(pod, { containerStatuses: null })).toEqual([]);
    for (const state of [{ waiting: {} }, { running: {} }, undefined])
      expect(namesOf(pod, { containerStatuses: [{ name: 'job', state }] })).toEqual([]);
    expect(namesOf({}, { containerStatuses: [ended(0)] })).toEqual([]);
    // The runs of other containers do not matter.
    const unrelated = { ...known, name: 'other' };
    expect(namesOf(pod, { containerStatuses: [ended(0)] }, { ...nothing, containers: [unrelated] })).toEqual(['job']);
  });
});

it('a lost run of an ephemeral container is over, however it ended', () => {
  const pod = podOf({ ephemeralContainers: [job] });
  expect(namesOf(pod, { ephemeralContainerStatuses: [ended(1)] })).toEqual(['job']);
  expect(namesOf(pod, { containerStatuses: [ended(1)] })).toEqual([]);
});

describe('a lost run of an init container', () => {
  const initContainerStatuses = [ended(0)];
  const pod = podOf({ initContainers: [job] });

  it('is over if it ended in the present sandbox', () => {
    expect(namesOf(pod, { initContainerStatuses }, sandboxOf())).toEqual(['job']);
    expect(namesOf(pod, { initContainerStatuses }, sandboxOf({ createdAtMs: undefined }))).toEqual(['job']);
  });

  it('is not over in another sandbox, or in one that is not ready', () => {
    expect(namesOf(pod, { initContainerStatuses })).toEqual([]);
    expect(namesOf(pod, { initContainerStatuses }, sandboxOf({ createdAtMs: finishedAtMs + 1 }))).toEqual([]);
    expect(namesOf(pod, { initContainerStatuses }, sandboxOf({ ready: false }))).toEqual([]);
    const unknownEnd = [ended(0, { finishedAt: undefined })];
    expect(namesOf(pod, { initContainerStatuses: unknownEnd }, sandboxOf())).toEqual([]);
  });

  it.each([
    ['Always', 1, []],
    ['OnFailure', 1, []],
    ['Never', 1, ['job']],
    ['Never', 0, ['job']],
  ])('in a pod with restart policy %s, with exit code %d', (restartPolicy, exitCode, expected) => {
    const failing = podOf({ initContainers: [job], restartPolicy });
    expect(namesOf(failing, { initContainerStatuses: [ended(exitCode)] }, sandboxOf())).toEqual(expected);
  });

  it('is never over if it is a sidecar', () => {
    const sidecar = podOf({ initContainers: [{ ...job, restartPolicy: 'Always' }], restartPolicy: 'Never' });
    expect(namesOf(sidecar, { initContainerStatuses }, sandboxOf())).toEqual([]);
  });
});
