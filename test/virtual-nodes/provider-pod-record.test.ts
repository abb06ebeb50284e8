import { describe, expect, it } from 'vitest';
import type { Container, PodStatusInput, ValidPod } from '../../src/kube/objects/types.ts';
import type { ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { podHash } from '../../src/virtual-nodes/pods/pod-hash.ts';
import {
  type NextCall,
  type ProviderPodOperation,
  type ProviderPodPolicy,
  type ProviderPodRecord,
  type ProviderPodReport,
  type ProviderPodState,
  reconcileProviderPod,
  type ReconcileInput,
  unknownProviderPod,
  type WantedPod,
} from '../../src/virtual-nodes/pods/provider-pod-record.ts';

/* Each table has all combinations of its rows and columns. `.` means: as before. */

const nowMs = 1_000_000;
const policy: ProviderPodPolicy = { lostAfterLists: 2, lostPods: 'fail', canUpdate: true, restarts: undefined };
const version = (image: string): ValidPod => ({
  metadata: { uid: 'u-1', namespace: 'default', name: 'web' },
  spec: { containers: [{ name: 'app', image }] },
});
const [wanted, other] = [version('app:2'), version('app:1')];
const reported = (fields: Partial<ProviderPod> = {}): ProviderPod => ({
  ...{ uid: 'u-1', namespace: 'default', name: 'web', nodeName: 'node-a', state: 'running' },
  ...fields,
});
const stopped = reported({ state: 'stopped' });
const stoppedMs = nowMs - 1000;

const asked = { kind: 'asked', calledMs: nowMs - 1000 } as const;
const accepted = { kind: 'accepted', calledMs: nowMs - 1000, atMs: 5 } as const;
const seen = { kind: 'reported', pod: reported(), atMs: 0 } as const;
/** Of each kind, the states that differ in what follows. */
const statesByKind: { readonly [Kind in ProviderPodState['kind']]: Readonly<Record<string, ProviderPodState>> } = {
  notAsked: { notAsked: { kind: 'notAsked' } },
  asked: { asked, refused: { kind: 'asked', calledMs: undefined } },
  accepted: { accepted },
  reported: { expected: { kind: 'reported' }, reported: seen },
  ending: {
    ending: { kind: 'ending', pod: reported(), deletedMs: nowMs - 1000 },
    endingUnseen: { kind: 'ending', deletedMs: nowMs - 1000 },
  },
  ended: {
    stopped: { kind: 'ended', pod: stopped, stoppedMs },
    stoppedDeleted: { kind: 'ended', pod: stopped, stoppedMs, deletedMs: nowMs - 1000 },
    gone: { kind: 'ended', deletedMs: nowMs - 1000 },
  },
  lost: {
    lostAsked: { kind: 'lost', was: asked },
    lostRefused: { kind: 'lost', was: { kind: 'asked', calledMs: undefined } },
    lostAccepted: { kind: 'lost', was: accepted },
    lostReported: { kind: 'lost', was: { kind: 'reported', atMs: 0 } },
  },
};
const states: Readonly<Record<string, ProviderPodState>> = Object.assign({}, ...Object.values(statesByKind));

function nameOf(state: ProviderPodState): string {
  switch (state.kind) {
    case 'asked':
      return state.calledMs === undefined ? 'refused' : 'asked';
    case 'reported':
      return state.pod === undefined ? 'expected' : 'reported';
    case 'ending':
      return state.pod === undefined ? 'endingUnseen' : 'ending';
    case 'ended':
      return state.pod === undefined ? 'gone' : state.deletedMs === undefined ? 'stopped' : 'stoppedDeleted';
    case 'lost': {
      const was = nameOf(state.was).replace('expected', 'reported');
      return `lost${was[0]!.toUpperCase()}${was.slice(1)}`;
    }
    default:
      return state.kind;
  }
}

/** In a state, after the observation 10. */
function inState(name: string, fields: Partial<ProviderPodRecord> = {}): ProviderPodRecord {
  const state = states[name]!;
  const observation = state.kind === 'notAsked' ? 0 : 10;
  const missingLists = name === 'gone' || state.kind === 'lost' ? policy.lostAfterLists : 0;
  return Object.freeze({ ...unknownProviderPod, state: Object.freeze(state), observation, missingLists, ...fields });
}

const failed = (operation: ProviderPodOperation, isPermanent: boolean): ProviderPodReport => ({
  ...{ kind: 'failed', operation, isPermanent, pod: wanted },
  failure: { reason: 'Failed', message: 'no quota' },
});
const observation = 11;
/** Of each kind, the reports that differ in what follows; `Twice`: two in a row, `Old`: from before the last change. */
const reportsByKind: {
  readonly [Kind in ProviderPodReport['kind']]: Readonly<Record<string, readonly ProviderPodReport[]>>;
} = {
  listed: {
    listed: [{ kind: 'listed', pod: reported(), observation, atMs: 1 }],
    listedStopped: [{ kind: 'listed', pod: stopped, observation, atMs: 1 }],
    listedOld: [{ kind: 'listed', pod: reported(), observation: 10, atMs: 1 }],
  },
  missing: {
    missing: [{ kind: 'missing', observation }],
    missingTwice: [
      { kind: 'missing', observation },
      { kind: 'missing', observation: 12 },
    ],
    missingOld: [
      { kind: 'missing', observation: 9 },
      { kind: 'missing', observation: 10 },
    ],
  },
  notFound: {
    notFound: [{ kind: 'notFound', observation }],
    notFoundOld: [{ kind: 'notFound', observation: 10 }],
  },
  creating: {
    creating: [{ kind: 'creating', pod: wanted, restartCount: 0, observation }],
    creatingNext: [{ kind: 'creating', pod: wanted, restartCount: 1, observation }],
  },
  created: { created: [{ kind: 'created', observation, atMs: 5 }] },
  updated: { updated: [{ kind: 'updated', pod: wanted }] },
  deleting: { deleting: [{ kind: 'deleting' }] },
  deleted: { deleted: [{ kind: 'deleted', observation }] },
  failed: {
    createFailed: [failed('create_pod', false)],
    createRefused: [failed('create_pod', true)],
    updateFailed: [failed('update_pod', false)],
    updateRefused: [failed('update_pod', true)],
    deleteFailed: [failed('delete_pod', false)],
    deleteRefused: [failed('delete_pod', true)],
  },
  aborted: {
    createAborted: [{ kind: 'aborted', operation: 'create_pod' }],
    updateAborted: [{ kind: 'aborted', operation: 'update_pod' }],
    deleteAborted: [{ kind: 'aborted', operation: 'delete_pod' }],
  },
  terminated: { terminated: [{ kind: 'terminated' }] },
};
const reports: Readonly<Record<string, readonly ProviderPodReport[]>> = Object.assign(
  {},
  ...Object.values(reportsByKind),
);

function after(record: ProviderPodRecord, name: string): ProviderPodRecord {
  return reports[name]!.reduce(
    (before, report) => reconcileProviderPod(before, { report, isUnlisted: true, nowMs }, policy).record,
    record,
  );
}

/** Compares a table with what the code does in each combination of its rows and columns. */
function expectTable(text: string, rows: readonly string[], cell: (row: string, column: string) => string): void {
  const [columns = [], ...lines] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  expect(lines.map(([row]) => row)).toEqual(rows);
  expect([columns, ...lines]).toEqual([
    columns,
    ...rows.map((row) => [row, ...columns.map((name) => cell(row, name))]),
  ]);
}

function nextState(row: string, column: string): string {
  const next = nameOf(after(inState(row), column).state);
  return next === row ? '.' : next;
}

it('a report leads from each state to the next one', () => {
  const text = `
                  listed    listedStopped   missing  missingTwice  notFound      creating  creatingNext  created   deleted         createRefused
  notAsked        reported  stopped         .        .             .             asked     asked         accepted  .               .
  asked           reported  stopped         .        lostAsked     lostAsked     .         .             accepted  endingUnseen    refused
  refused         reported  stopped         .        lostRefused   lostRefused   asked     asked         accepted  endingUnseen    .
  accepted        reported  stopped         .        lostAccepted  lostAccepted  asked     asked         .         endingUnseen    .
  expected        reported  stopped         .        lostReported  lostReported  .         .             .         endingUnseen    .
  reported        .         stopped         .        lostReported  lostReported  .         .             .         ending          .
  ending          .         stoppedDeleted  .        gone          gone          .         .             .         .               .
  endingUnseen    ending    stoppedDeleted  .        gone          gone          .         .             .         .               .
  stopped         reported  .               .        .             .             .         asked         .         stoppedDeleted  .
  stoppedDeleted  ending    .               .        .             .             .         .             .         .               .
  gone            ending    stoppedDeleted  .        .             .             .         .             .         .               .
  lostAsked       reported  stopped         .        .             .             asked     asked         accepted  endingUnseen    .
  lostRefused     reported  stopped         .        .             .             asked     asked         accepted  endingUnseen    .
  lostAccepted    reported  stopped         .        .             .             asked     asked         accepted  endingUnseen    .
  lostReported    reported  stopped         .        .             .             asked     asked         accepted  endingUnseen    .`;
  expectTable(text, Object.keys(states), nextState);
  const columns = text.trim().split('\n')[0]!.split(/\s+/);
  const others = Object.keys(reports).filter((name) => !columns.includes(name));
  const isObserved = (row: string): boolean => row !== 'notAsked';
  for (const row of Object.keys(states).filter(isObserved))
    for (const column of others) expect([row, column, nextState(row, column)]).toEqual([row, column, '.']);
});

const running = (mayExist: boolean): WantedPod => ({ kind: 'running', pod: wanted, mayExist });
const ended = (hasObject: boolean, mayExist: boolean): WantedPod => ({ kind: 'ended', hasObject, mayExist });
const backOff = (operation: ProviderPodOperation, untilMs = nowMs + 1): Partial<ProviderPodRecord> => ({
  backOff: { operation, delayMs: 1000, untilMs, message: 'no quota' },
});

interface Situation extends Pick<ReconcileInput, 'wanted'>, Partial<ReconcileInput> {
  readonly fields?: Partial<ProviderPodRecord> | undefined;
  readonly policy?: Partial<ProviderPodPolicy>;
}

function nextCall(record: ProviderPodRecord, { fields, policy: changed, ...input }: Situation): NextCall {
  const given = { isUnlisted: true, nowMs, ...input };
  return reconcileProviderPod({ ...record, ...fields }, given, { ...policy, ...changed }).call;
}

/** `Again`: an earlier process may have created the pod; `Late`: in a back-off, a minute after `createPod`. */
const situations: Readonly<Record<string, Situation>> = {
  run: { wanted: running(false) },
  runAgain: { wanted: running(true) },
  runUnlisted: { wanted: running(true), policy: { lostAfterLists: 1 } },
  recreate: { wanted: running(true), policy: { lostAfterLists: 1, lostPods: 'recreate' } },
  runBackOff: { wanted: running(false), fields: backOff('create_pod') },
  end: { wanted: ended(true, false) },
  endAgain: { wanted: ended(true, true) },
  endBackOff: { wanted: ended(true, false), fields: backOff('delete_pod') },
  endLate: { wanted: ended(true, false), fields: backOff('delete_pod', Infinity), nowMs: nowMs + 60_000 },
  orphan: { wanted: ended(false, false) },
  orphanBackOff: { wanted: ended(false, false), fields: backOff('delete_pod') },
};

it('what is wanted of a pod leads from each state to the next call', () => {
  const text = `
                  run        runAgain   runUnlisted  recreate   runBackOff  end     endAgain  endBackOff  endLate  orphan  orphanBackOff
  notAsked        create     wait       fail         create     backOff     none    delete    none        none     none    none
  asked           create     create     create       create     backOff     delete  delete    backOff     backOff  delete  backOff
  refused         create     create     create       create     backOff     delete  delete    backOff     backOff  delete  backOff
  accepted        none       none       none         none       none        delete  delete    backOff     backOff  delete  backOff
  expected        wait       wait       wait         wait       wait        delete  delete    backOff     backOff  delete  backOff
  reported        update     update     update       update     update      delete  delete    backOff     backOff  delete  backOff
  ending          none       none       none         none       none        delete  delete    backOff     backOff  delete  backOff
  endingUnseen    none       none       none         none       none        delete  delete    backOff     backOff  delete  backOff
  stopped         terminate  terminate  terminate    terminate  terminate   none    none      none        none     delete  backOff
  stoppedDeleted  terminate  terminate  terminate    terminate  terminate   none    none      none        none     delete  backOff
  gone            terminate  terminate  terminate    terminate  terminate   none    none      none        none     none    none
  lostAsked       create     create     create       create     backOff     delete  delete    backOff     none     delete  backOff
  lostRefused     create     create     create       create     backOff     delete  delete    none        none     delete  none
  lostAccepted    create     create     create       create     backOff     delete  delete    backOff     none     delete  backOff
  lostReported    fail       fail       fail         create     fail        delete  delete    none        none     delete  none`;
  expectTable(text, Object.keys(states), (row, column) => nextCall(inState(row), situations[column]!).kind);
  expect(text.trim().split('\n')[0]!.split(/\s+/)).toEqual(Object.keys(situations));
});

describe('with `restarts: node`', () => {
  const node: ProviderPodPolicy = { ...policy, restarts: 'node' };
  const specOf = (spec: Partial<NonNullable<ValidPod['spec']>>): ValidPod => ({
    ...wanted,
    spec: { ...wanted.spec!, ...spec },
  });
  const exited = (exitCode: number, restartCount = 0): ProviderPod =>
    reported({ state: 'stopped', restartCount, containers: [{ name: 'app', exit: { exitCode } }] });
  const stoppedWith = (pod: ProviderPod, fields: Partial<ProviderPodRecord> = {}): ProviderPodRecord =>
    inState('stopped', { state: { kind: 'ended', pod, stoppedMs }, restartCount: pod.restartCount ?? 0, ...fields });
  const callFor = (record: ProviderPodRecord, { pod = wanted, previous, atMs = nowMs }: CallInput = {}): NextCall => {
    const want: WantedPod = { kind: 'running', pod, previous, mayExist: true };
    return reconcileProviderPod(record, { wanted: want, isUnlisted: false, nowMs: atMs }, node).call;
  };
  interface CallInput {
    readonly pod?: ValidPod;
    readonly previous?: WantedPod['previous'];
    readonly atMs?: number;
  }
  const ofRun = (attempt: number, restartCount = attempt): PodStatusInput => ({
    phase: 'Running',
    containerStatuses: [
      { name: 'app', restartCount, containerID: `provider://u-1/app/${attempt}`, state: { running: {} } },
    ],
  });

  it('only a pod that has stopped, and was not deleted, is created again, with the next count', () => {
    for (const row of Object.keys(states)) {
      const call = callFor(inState(row));
      const before = nextCall(inState(row), { wanted: running(true), isUnlisted: false });
      expect([row, call]).toEqual([row, row === 'stopped' ? { kind: 'create', restartCount: 1 } : before]);
    }
  });

  const never = specOf({ restartPolicy: 'Never' });
  const onFailure = specOf({ restartPolicy: 'OnFailure' });
  const deleted = { ...wanted, metadata: { ...wanted.metadata, deletionTimestamp: '2026-01-02T03:04:05Z' } };
  const own = specOf({ restartPolicy: 'Always', containers: [{ name: 'app', restartPolicy: 'Never' }] });
  const rules: Container = {
    ...{ name: 'app', restartPolicy: 'Never' },
    restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
  };
  it.each<[string, ValidPod, ProviderPod, NextCall['kind']]>([
    ['Always, exit code 0', wanted, exited(0), 'create'],
    ['Always, an end that is not reported', wanted, stopped, 'create'],
    ['Always, stopped by the cloud with a reason', wanted, { ...exited(0), reason: 'SpotReclaimed' }, 'terminate'],
    ['Always, deleted', deleted, exited(0), 'terminate'],
    ['OnFailure, exit code 0', onFailure, exited(0), 'terminate'],
    ['OnFailure, exit code 1', onFailure, exited(1), 'create'],
    ['OnFailure, an end that is not reported', onFailure, stopped, 'create'],
    ['Never, exit code 1', never, exited(1), 'terminate'],
    ['a container with a policy of its own', own, exited(1), 'terminate'],
    ['a container with a rule that restarts it', specOf({ containers: [rules] }), exited(42), 'create'],
    ['a container with a rule that does not', specOf({ containers: [rules] }), exited(1), 'terminate'],
  ])('%s', (_what, pod, ended, call) => {
    expect(callFor(stoppedWith(ended), { pod }).kind).toBe(call);
  });

  it('a pod with a terminal phase is not created again', () => {
    expect(callFor(stoppedWith(exited(1)), { previous: { phase: 'Failed' } }).kind).toBe('terminate');
  });

  it('a container that has ended for good counts no longer, whatever is reported of it later', () => {
    const pod = specOf({ restartPolicy: 'OnFailure', containers: [{ name: 'app' }, { name: 'job' }] });
    const previous = {
      phase: 'Running',
      containerStatuses: [{ name: 'job', state: { terminated: { exitCode: 0 } } }],
    };
    expect(callFor(stoppedWith(exited(0)), { pod, previous }).kind).toBe('terminate');
    expect(callFor(stoppedWith(exited(1)), { pod, previous }).kind).toBe('create');
    expect(callFor(stoppedWith(exited(0)), { pod }).kind).toBe('create');
  });

  /** The delays before the starts of a pod whose runs take so long. */
  function delays(runMs: number, starts: number, podOf = (_start: number): ValidPod => wanted): number[] {
    let record = inState('reported');
    let atMs = nowMs;
    const reconcile = (report: ProviderPodReport): void =>
      void ({ record } = reconcileProviderPod(record, { report, isUnlisted: false, nowMs: atMs }, node));
    return Array.from({ length: starts }, (_, start) => {
      const [pod, restartCount] = [podOf(start), start + 1];
      const endMs = (atMs += runMs);
      reconcile({ kind: 'listed', pod: exited(1, start), observation: 100 + 3 * start, atMs: 0 });
      let call = callFor(record, { pod, atMs });
      if (call.kind === 'crashLoop') {
        expect(call.untilMs).toBe(atMs + call.delayMs);
        expect(callFor(record, { pod, atMs: call.untilMs - 1 })).toEqual(call);
        atMs = call.untilMs;
        call = callFor(record, { pod, atMs });
      }
      expect(call).toEqual({ kind: 'create', restartCount });
      reconcile({ kind: 'creating', pod, restartCount, observation: 101 + 3 * start });
      expect([record.state.kind, record.restartCount]).toEqual(['asked', restartCount]);
      return (atMs - endMs) / 1000;
    });
  }

  it('starts a pod immediately, then after 10, 20, 40, … 300 s, and immediately after a run of 10 minutes', () => {
    expect(delays(1000, 8)).toEqual([0, 10, 20, 40, 80, 160, 300, 300]);
    expect(delays(600_000, 3)).toEqual([0, 10, 20]);
    expect(delays(600_001, 3)).toEqual([0, 0, 0]);
  });

  it('starts a pod with another image immediately', () => {
    expect(delays(1000, 4, (start) => (start < 2 ? wanted : other))).toEqual([0, 10, 0, 10]);
  });

  it('a creation that has failed is repeated after its own back-off, with the same count', () => {
    let record = stoppedWith(exited(1));
    const report = { kind: 'creating', pod: wanted, restartCount: 1, observation } as const;
    record = reconcileProviderPod(record, { report, isUnlisted: false, nowMs }, node).record;
    record = reconcileProviderPod(
      record,
      { report: failed('create_pod', false), isUnlisted: false, nowMs },
      node,
    ).record;
    expect(callFor(record).kind).toBe('backOff');
    expect(callFor(record, { atMs: nowMs + 1000 })).toEqual({ kind: 'create', restartCount: 1 });
  });

  it('the run before the one that was asked for is out of date, in every state', () => {
    for (const row of Object.keys(states)) {
      const record = inState(row, { restartCount: 2 });
      for (const pod of [exited(1, 1), reported({ restartCount: 1 }), reported()]) {
        const report = { kind: 'listed', pod, observation, atMs: 1 } as const;
        expect(reconcileProviderPod(record, { report, isUnlisted: false, nowMs }, node).record).toBe(record);
      }
      const report = { kind: 'listed', pod: exited(1, 3), observation, atMs: 1 } as const;
      const { restartCount, state } = reconcileProviderPod(record, { report, isUnlisted: false, nowMs }, node).record;
      expect([restartCount, state.kind]).toEqual([3, 'ended']);
    }
  });

  it('a run that has stopped does not run again, whatever a list shows that lags behind, unless it was deleted', () => {
    const list = (row: string, pod: ProviderPod): ProviderPodRecord => {
      const report = { kind: 'listed', pod, observation, atMs: 1 } as const;
      return reconcileProviderPod(inState(row), { report, isUnlisted: false, nowMs }, node).record;
    };
    for (const state of ['creating', 'running'] as const) {
      expect(list('stopped', reported({ state })).state).toEqual(states['stopped']);
      expect(list('stopped', reported({ state, restartCount: 1 })).state.kind).toBe('reported');
      for (const row of ['stoppedDeleted', 'gone']) expect(list(row, reported({ state })).state.kind).toBe('ending');
    }
  });

  it('after a restart of the process, the status says which run was seen last: a list with an earlier one is waited out', () => {
    for (const pod of [exited(1, 1), reported({ restartCount: 1 })]) {
      const report = { kind: 'listed', pod, observation, atMs: 1 } as const;
      const { record } = reconcileProviderPod(unknownProviderPod, { report, isUnlisted: false, nowMs }, node);
      expect(callFor(record, { previous: ofRun(2) }).kind).toBe('wait');
      expect(callFor(record, { previous: ofRun(1) }).kind).not.toBe('wait');
      const input = { isUnlisted: false, nowMs, wanted: { ...ended(true, true), previous: ofRun(2) } };
      expect(reconcileProviderPod(record, input, node).call.kind).toBe('delete');
    }
    expect(callFor(unknownProviderPod, { previous: ofRun(2) }).kind).toBe('wait');
  });

  it('a lost run that the status has counted makes no other run out of date, and the next count is higher', () => {
    expect(callFor(stoppedWith(exited(1, 1)), { previous: ofRun(1, 2) })).toEqual({ kind: 'create', restartCount: 3 });
    const max = 2 ** 31 - 1;
    expect(callFor(stoppedWith(exited(1)), { previous: ofRun(0, max) })).toEqual({ kind: 'create', restartCount: 1 });
  });
});

it('a back-off delays only the operation that has failed, and only until its end', () => {
  for (const row of Object.keys(states))
    for (const situation of Object.values(situations).filter(({ fields }) => fields === undefined))
      for (const operation of ['create_pod', 'update_pod', 'delete_pod'] as const) {
        const plain = nextCall(inState(row), situation);
        const isOver = nextCall(inState(row, backOff(operation, nowMs)), situation);
        expect([row, isOver]).toEqual([row, plain]);
        const isOther = plain.kind !== operation.split('_')[0];
        const delayed = nextCall(inState(row, backOff(operation)), situation);
        if (isOther) expect([row, delayed]).toEqual([row, plain]);
        else expect(['backOff', 'none']).toContain(delayed.kind);
      }
});

const pods = { none: undefined, wanted, other };
const uncertainties = { sure: undefined, attempted: 'attempted', created: 'created', updated: 'updated' } as const;
/** What is known of the pod's spec in the cloud: which one, and how surely. */
const contents: Readonly<Record<string, Partial<ProviderPodRecord>>> = Object.fromEntries(
  Object.entries(pods).flatMap(([pod, applied]) =>
    Object.entries(uncertainties).map(([why, uncertain]) => [`${pod}/${why}`, { applied, uncertain }]),
  ),
);
const nameOfPod = (pod: ValidPod | undefined): string =>
  pod === undefined ? 'none' : pod === wanted ? 'wanted' : 'other';
const hashes: Readonly<Record<string, string | undefined>> = {
  noHash: undefined,
  hashOfWanted: podHash(wanted),
  hashOfOther: podHash(other),
  hashOfNeither: podHash(version('app:0')),
};

function callToUpdate(row: string, column: string, { fields, ...situation }: Partial<Situation> = {}): NextCall {
  const state = { kind: 'reported', pod: reported({ podHash: hashes[column] }), atMs: 0 } as const;
  const record = { ...inState('reported', contents[row]), state };
  return nextCall(record, { wanted: running(true), fields, ...situation });
}

describe('the update of a reported pod', () => {
  it('is made unless the cloud has the pod as it is wanted, with what the cloud has before', () => {
    const text = `
                     noHash          hashOfWanted    hashOfOther     hashOfNeither
    none/sure        update(none)    applied         update(none)    update(none)
    none/attempted   update(none)    applied         update(none)    update(none)
    none/created     update(none)    applied         update(none)    update(none)
    none/updated     update(none)    update(none)    update(none)    update(none)
    wanted/sure      applied         applied         applied         applied
    wanted/attempted update(none)    applied         update(none)    update(none)
    wanted/created   applied         applied         update(none)    update(none)
    wanted/updated   update(wanted)  update(wanted)  update(none)    update(none)
    other/sure       update(other)   update(other)   update(other)   update(other)
    other/attempted  update(none)    applied         update(none)    update(none)
    other/created    update(other)   applied         update(other)   update(none)
    other/updated    update(other)   update(none)    update(other)   update(none)`;
    expectTable(text, Object.keys(contents), (row, column) => {
      const call = callToUpdate(row, column);
      return call.kind === 'update' ? `update(${nameOfPod(call.previous)})` : call.kind;
    });
  });

  it('is never made for a pod whose update was refused, nor by a provider without updatePod, and waits for a back-off', () => {
    for (const row of Object.keys(contents))
      for (const column of Object.keys(hashes)) {
        const call = callToUpdate(row, column);
        expect(callToUpdate(row, column, { fields: { refused: wanted } }).kind).toBe('none');
        expect(callToUpdate(row, column, { policy: { canUpdate: false } }).kind).toBe('none');
        expect(callToUpdate(row, column, { fields: { refused: other } })).toEqual(call);
        const inBackOff = callToUpdate(row, column, { fields: backOff('update_pod') }).kind;
        expect(inBackOff).toBe(call.kind === 'applied' ? 'applied' : 'backOff');
      }
  });

  it('and the calls before it lead to what is known of its spec in the cloud', () => {
    const text = `
                     creating          created         updated      updateFailed    updateAborted   updateRefused     terminated
    none/sure        none/attempted    none/created    wanted/sure  none/updated    none/updated    .                 .
    none/attempted   .                 none/created    wanted/sure  none/updated    none/updated    .                 none/sure
    none/created     none/attempted    .               wanted/sure  none/updated    none/updated    .                 none/sure
    none/updated     none/attempted    none/created    wanted/sure  .               .               .                 none/sure
    wanted/sure      wanted/attempted  wanted/created  .            wanted/updated  wanted/updated  .                 none/sure
    wanted/attempted .                 wanted/created  wanted/sure  none/updated    none/updated    .                 none/sure
    wanted/created   wanted/attempted  .               wanted/sure  wanted/updated  wanted/updated  .                 none/sure
    wanted/updated   none/attempted    wanted/created  wanted/sure  .               .               .                 none/sure
    other/sure       none/attempted    other/created   wanted/sure  other/updated   other/updated   .                 none/sure
    other/attempted  none/attempted    other/created   wanted/sure  none/updated    none/updated    .                 none/sure
    other/created    none/attempted    .               wanted/sure  other/updated   other/updated   .                 none/sure
    other/updated    none/attempted    other/created   wanted/sure  .               .               .                 none/sure`;
    const contentAfter = (row: string, column: string): string => {
      const { applied, uncertain = 'sure' } = after(inState('lostReported', contents[row]), column);
      const content = `${nameOfPod(applied)}/${uncertain}`;
      return content === row ? '.' : content;
    };
    expectTable(text, Object.keys(contents), contentAfter);
    const columns = text.trim().split('\n')[0]!.split(/\s+/);
    for (const row of Object.keys(contents))
      for (const column of Object.keys(reports).filter((name) => ![...columns, 'creatingNext'].includes(name)))
        expect([row, column, contentAfter(row, column)]).toEqual([row, column, '.']);
    const first = after(inState('notAsked', contents['none/sure']), 'creating');
    expect([first.applied, first.uncertain]).toEqual([wanted, 'attempted']);
  });
});

it('a failed call is followed by a back-off, or by the end of the pod when its creation was refused permanently', () => {
  const text = `
                  createFailed  createRefused  updateFailed  updateRefused  deleteFailed  deleteRefused
  notAsked        backOff       fail           backOff       none           backOff       backOff
  asked           backOff       fail           backOff       none           backOff       backOff
  refused         backOff       fail           backOff       none           backOff       backOff
  accepted        backOff       fail           backOff       none           backOff       backOff
  expected        backOff       fail           backOff       none           backOff       backOff
  reported        backOff       fail           backOff       none           backOff       backOff
  ending          backOff       fail           backOff       none           backOff       backOff
  endingUnseen    backOff       fail           backOff       none           backOff       backOff
  stopped         backOff       fail           backOff       none           backOff       backOff
  stoppedDeleted  backOff       fail           backOff       none           backOff       backOff
  gone            backOff       fail           backOff       none           backOff       backOff
  lostAsked       backOff       fail           backOff       none           backOff       backOff
  lostRefused     backOff       fail           backOff       none           none          none
  lostAccepted    backOff       fail           backOff       none           backOff       backOff
  lostReported    backOff       fail           backOff       none           none          none`;
  expectTable(text, Object.keys(states), (row, column) => {
    const [report] = reports[column]!;
    return nextCall(inState(row), { wanted: undefined, report }).kind;
  });
});

it('delays double up to a maximum; one that the cloud requests changes neither the next nor that of another operation', () => {
  let record = inState('reported');
  const delayAfter = (operation: ProviderPodOperation, retryAfterMs?: number): number => {
    const report = { ...failed(operation, false), retryAfterMs } as ProviderPodReport;
    ({ record } = reconcileProviderPod(record, { report, isUnlisted: false, nowMs }, policy));
    return record.backOff!.untilMs - nowMs;
  };
  expect([1, 2, 3].map(() => delayAfter('update_pod'))).toEqual([1000, 2000, 4000]);
  expect([delayAfter('update_pod', 30_000), delayAfter('update_pod')]).toEqual([30_000, 8000]);
  expect(Array.from({ length: 8 }, () => delayAfter('delete_pod')).slice(-3)).toEqual([32_000, 60_000, 60_000]);
  record = after(record, 'deleted');
  expect(record.backOff).toBeUndefined();
  expect(Array.from({ length: 10 }, () => delayAfter('create_pod')).slice(-2)).toEqual([256_000, 300_000]);
});

it('only whether the worker has finished the pod, and the count of its runs, outlive the worker, beside what the cloud has of it', () => {
  const { state } = inState('reported');
  const full = inState('reported', {
    ...{ ...contents['other/updated'], ...backOff('update_pod'), refused: other, restartCount: 3 },
    crashLoop: { backoffMs: 10_000, lastUpdateMs: nowMs, containers: [] },
  });
  expect(after(full, 'terminated')).toEqual({
    state,
    restartCount: 3,
    observation: 10,
    missingLists: 0,
    isTerminated: true,
  });
});
