import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../support/kube-http.ts';
import { checkRuns, checkShownStatuses, containerKey, type Containers, differenceToRuns } from './kit-invariants.ts';
import { RunLedger } from './run-ledger.ts';

interface Given {
  readonly ledger: readonly string[];
  readonly lost?: readonly string[];
  readonly creations?: number;
}

function withContainers<T>({ ledger, lost = [], creations = 1 }: Given, use: (containers: Containers) => T): T {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  try {
    writeFileSync(join(directory, 'a.c'), ledger.map((line) => `${line}\n`).join(''));
    return use({
      ledger: new RunLedger(directory),
      lost: new Set(lost),
      creations: new Map([[containerKey('a', 'c'), creations]]),
    });
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function podWith(restartPolicy: string, status: Json = {}, metadata: Json = {}, args = ['0:0']): Json {
  return {
    metadata: { uid: 'a', name: 'pod-0', ...metadata },
    spec: { restartPolicy, containers: [{ name: 'c', args }] },
    status,
  };
}

function statusOf(state: Json, restartCount = 0, containerID = 'process://x'): Json {
  return { containerStatuses: [{ name: 'c', restartCount, containerID, state }] };
}

function exited(exitCode: number, containerID = 'process://x'): Json {
  return { terminated: { exitCode, containerID, reason: 'Error' } };
}

function history(...pods: readonly Json[]) {
  return pods.map((pod, i) => ({ type: 'MODIFIED' as const, resourceVersion: i, pod }));
}

describe('checkRuns', () => {
  const findings = (restartPolicy: string, given: Given): string[] =>
    withContainers(given, (containers) =>
      checkRuns(history(podWith(restartPolicy)), containers).map(({ details }) => details.replace('pod-0 a c: ', '')),
    );

  it.each<{ name: string; policy: string; given: Given; expected: readonly string[] }>([
    {
      name: 'accepts a restart after a failure',
      policy: 'OnFailure',
      given: { ledger: ['start x 1', 'exit x 1 3', 'start y 2', 'exit y 2 0'] },
      expected: [],
    },
    {
      name: 'finds a container that was started twice',
      policy: 'Always',
      given: { ledger: ['start x 1', 'exit x 1 3', 'start x 2'] },
      expected: ['a container was started twice: x, x'],
    },
    {
      name: 'finds two runs at the same time',
      policy: 'Always',
      given: { ledger: ['start x 1', 'start y 2', 'overlap y 2 x', 'exit x 1 0'] },
      expected: ['y was started while x was running'],
    },
    {
      name: 'finds a second run with restartPolicy Never',
      policy: 'Never',
      given: { ledger: ['start x 1', 'exit x 1 3', 'start y 2'] },
      expected: ['y was started after the exit of x with 3'],
    },
    {
      name: 'finds a restart after a success with restartPolicy OnFailure',
      policy: 'OnFailure',
      given: { ledger: ['start x 1', 'exit x 1 0', 'start y 2'] },
      expected: ['y was started after the exit of x with 0'],
    },
    {
      name: 'finds a container that somebody killed',
      policy: 'Always',
      given: { ledger: ['start x 1', 'start y 2'] },
      expected: ['x was killed, and started again'],
    },
    {
      name: 'accepts the restart of a container whose shim was killed',
      policy: 'Always',
      given: { ledger: ['start x 1', 'start y 2'], lost: ['x'] },
      expected: [],
    },
  ])('$name', ({ policy, given, expected }) => expect(findings(policy, given)).toEqual(expected));
});

describe('checkShownStatuses', () => {
  const findings = (given: Given, ...pods: readonly Json[]): string[] =>
    withContainers(given, (containers) =>
      checkShownStatuses(history(...pods), containers).map(({ invariant, details }) => `${invariant}: ${details}`),
    );
  const deleted = { deletionTimestamp: '2026-01-02T03:04:05Z' };

  it.each<{ name: string; given: Given; pods: readonly Json[]; expected: readonly string[] }>([
    {
      name: 'accepts the true exit code',
      given: { ledger: ['start x 1', 'exit x 1 3'] },
      pods: [podWith('Never', statusOf(exited(3)))],
      expected: [],
    },
    {
      name: 'finds a wrong exit code, once',
      given: { ledger: ['start x 1', 'exit x 1 3'] },
      pods: [podWith('Never', statusOf(exited(0))), podWith('Never', statusOf(exited(0)))],
      expected: ['true exit codes: pod-0 a c @0: 0 (Error) of process://x, but true is 3'],
    },
    {
      name: 'finds a container of a pod that was not deleted, but stopped',
      given: { ledger: ['start x 1', 'stop x 1 42'] },
      pods: [podWith('Always', statusOf(exited(42)))],
      expected: ['true exit codes: pod-0 a c @0: 42 (Error) of process://x, but nothing has ended it'],
    },
    {
      name: 'accepts that a deleted pod is stopped or killed',
      given: { ledger: ['start x 1', 'stop x 1 42'] },
      pods: [podWith('Always', statusOf(exited(42)), deleted), podWith('Always', statusOf(exited(137)), deleted)],
      expected: [],
    },
    {
      name: 'accepts 137 for a container whose shim was killed',
      given: { ledger: ['start x 1'], lost: ['x'] },
      pods: [podWith('Always', statusOf(exited(137)))],
      expected: [],
    },
    {
      name: 'finds a restart count that decreases',
      given: { ledger: ['start x 1'] },
      pods: [podWith('Always', statusOf({ running: {} }, 2)), podWith('Always', statusOf({ running: {} }, 1))],
      expected: ['restart counts only grow: pod-0 a c @1: 2 → 1'],
    },
  ])('$name', ({ given, pods, expected }) => expect(findings(given, ...pods)).toEqual(expected));
});

describe('differenceToRuns', () => {
  const forever = ['0:1', '100000:0'];
  const difference = (given: Given, pod: Json): string | undefined =>
    withContainers(given, (containers) => differenceToRuns(pod, containers, new Set([7])));

  it.each<{ name: string; given: Given; pod: Json; expected: string | undefined }>([
    {
      name: 'finds none for a pod that has failed as its container has',
      given: { ledger: ['start x 1', 'exit x 1 3'] },
      pod: podWith('Never', { phase: 'Failed', ...statusOf(exited(3)) }),
      expected: undefined,
    },
    {
      name: 'finds none for a container that runs until it is stopped',
      given: { ledger: ['start x 1', 'exit x 1 1', 'start y 7'], creations: 2 },
      pod: podWith('Always', { phase: 'Running', ...statusOf({ running: {} }, 1, 'process://y') }, {}, forever),
      expected: undefined,
    },
    {
      name: 'finds none for a container that was created, but not started before the agent was killed',
      given: { ledger: ['start x 1', 'exit x 1 1', 'start y 7'], creations: 3 },
      pod: podWith('Always', { phase: 'Running', ...statusOf({ running: {} }, 2, 'process://y') }, {}, forever),
      expected: undefined,
    },
    {
      name: 'finds a pod whose container was never run',
      given: { ledger: [] },
      pod: podWith('Never', { phase: 'Pending', ...statusOf({ waiting: {} }) }),
      expected: 'c has not run: {"waiting":{}}',
    },
    {
      name: 'finds a container that is not restarted',
      given: { ledger: ['start x 1', 'exit x 1 3'] },
      pod: podWith('OnFailure', { phase: 'Failed', ...statusOf(exited(3)) }),
      expected: 'c: is to be restarted after 3',
    },
    {
      name: 'finds the end of another run',
      given: { ledger: ['start y 1', 'exit y 1 0'] },
      pod: podWith('Never', { phase: 'Succeeded', ...statusOf(exited(0)) }),
      expected: expect.stringContaining('c: y has ended with 0') as string,
    },
    {
      name: 'finds a restart that nobody has counted',
      given: { ledger: ['start x 1', 'exit x 1 1', 'start y 7'], creations: 2 },
      pod: podWith('Always', { phase: 'Running', ...statusOf({ running: {} }, 0, 'process://y') }, {}, forever),
      expected: 'c: 0 restarts, but 2 runs of 2 containers',
    },
    {
      name: 'finds a restart that was counted without a container',
      given: { ledger: ['start x 1', 'exit x 1 1', 'start y 7'], creations: 2 },
      pod: podWith('Always', { phase: 'Running', ...statusOf({ running: {} }, 2, 'process://y') }, {}, forever),
      expected: 'c: 2 restarts, but 2 runs of 2 containers',
    },
    {
      name: 'finds a wrong phase',
      given: { ledger: ['start x 1', 'exit x 1 0'] },
      pod: podWith('Never', { phase: 'Running', ...statusOf(exited(0)) }),
      expected: 'the phase is Running, expected Succeeded',
    },
  ])('$name', ({ given, pod, expected }) => expect(difference(given, pod)).toEqual(expected));
});
