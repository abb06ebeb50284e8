import { describe, expect, it } from 'vitest';
import { apiPodOf, decide, type NodeFacts } from '../../../src/status-manager/sync/decide.ts';
import type { Pod, PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';

const now = '2026-01-02T03:04:05Z';

function podOf(status: PodStatusInput, metadata: Pod['metadata'] = {}): Pod {
  return { metadata: { namespace: 'default', name: 'a', uid: 'uid-a', ...metadata }, status };
}

const staticPod = podOf({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
const mirrorAnnotations = { 'kubernetes.io/config.mirror': 'x' };

interface Row {
  readonly what: string;
  readonly status?: PodStatus;
  readonly api?: Pod;
  readonly facts?: Partial<NodeFacts>;
  readonly expected: object;
}

const gate = { type: 'example.com/gate', status: 'True', lastProbeTime: null, lastTransitionTime: null };
const running: PodStatus = { phase: 'Running' };
const recovered = { from: 'journal', acceptedAt: now, orphanedSinceMs: undefined } as const;
const patchOf = (status: object) => ({
  kind: 'patch',
  patch: { type: 'application/strategic-merge-patch+json', body: { metadata: { uid: 'uid-a' }, status } },
});

const rows: readonly Row[] = [
  { what: 'the API server shows it already', api: podOf(running), expected: { kind: 'unchanged', merged: running } },
  { what: 'it differs', expected: { ...patchOf({ phase: 'Running' }), merged: running } },
  {
    what: 'it differs, and JSON patches are sent',
    facts: { patchStrategy: 'json-patch' },
    expected: { kind: 'patch', patch: { type: 'application/json-patch+json' } },
  },
  {
    what: 'it differs in the format of a quantity only, and JSON patches are sent',
    status: { phase: 'Running', resources: { limits: { cpu: '1' } } },
    api: podOf({ phase: 'Running', resources: { limits: { cpu: '1000m' } } }),
    facts: { patchStrategy: 'json-patch' },
    expected: { kind: 'unchanged' },
  },
  {
    what: 'a terminal phase while containers could be running: the phase is held back',
    status: { phase: 'Failed' },
    facts: { podCouldHaveRunningContainers: () => true },
    expected: { kind: 'unchanged', merged: { phase: 'Pending' } },
  },
  {
    what: 'the object belongs to another pod',
    facts: { translatedUID: 'uid-b' },
    expected: { kind: 'gone', reason: 'recreated' },
  },
  {
    what: 'the object is an unknown mirror of a static pod',
    api: podOf({}, { annotations: mirrorAnnotations }),
    facts: { translatedUID: 'uid-b', pod: staticPod },
    expected: { kind: 'unknown-mirror' },
  },
  {
    what: 'the object is an unknown mirror, and the status is from the journal',
    api: podOf({}, { uid: 'mirror', annotations: mirrorAnnotations }),
    facts: { translatedUID: 'mirror', adopted: recovered },
    expected: { kind: 'unknown-mirror' },
  },
  {
    what: 'the object is the mirror of a static pod with another UID, and a status from the journal was tried for good',
    api: podOf({}, { uid: 'mirror', annotations: mirrorAnnotations }),
    facts: { translatedUID: 'uid-b', adopted: recovered },
    expected: { kind: 'gone', reason: 'recreated' },
  },
  {
    what: 'the API server knows the end of a pod that the journal does not',
    api: podOf({ phase: 'Succeeded' }),
    facts: { adopted: recovered },
    expected: { kind: 'gone', reason: 'outdated' },
  },
  {
    what: 'the status was adopted from the API server, which shows another one now',
    api: podOf({ phase: 'Pending' }),
    facts: { adopted: { from: 'api-server', resourceVersion: '1' } },
    expected: { kind: 'unchanged', merged: { phase: 'Pending' }, adopt: { status: { phase: 'Pending' } } },
  },
  {
    what: 'the status was adopted from the API server, which shows another one now, and the pod was terminated',
    api: podOf({ phase: 'Pending', message: 'newer' }),
    facts: { podIsFinished: true, adopted: { from: 'api-server', resourceVersion: '1' } },
    expected: { ...patchOf({ phase: 'Failed' }), adopt: { status: { phase: 'Failed', message: 'newer' } } },
  },
  {
    what: 'the status was adopted from the API server, and the object belongs to another pod now',
    api: podOf({}, { uid: 'uid-b' }),
    facts: { translatedUID: 'uid-b', adopted: { from: 'api-server', resourceVersion: '1' } },
    expected: { kind: 'gone', reason: 'recreated' },
  },
  {
    what: 'the same status, set by this run',
    api: podOf({ phase: 'Succeeded' }),
    expected: { kind: 'patch' },
  },
  {
    what: 'a DisruptionTarget that goes in with a terminal phase',
    status: { phase: 'Failed', conditions: [{ ...gate, type: 'DisruptionTarget' }] },
    api: podOf({ phase: 'Running', conditions: [gate] }),
    expected: { kind: 'patch', disruptionTarget: { type: 'DisruptionTarget', lastTransitionTime: now } },
  },
];

describe('decide', () => {
  it.each(rows)('$what: $expected.kind', ({ status = running, api = podOf({ phase: 'Pending' }), ...row }) => {
    const facts: NodeFacts = {
      uid: 'uid-a',
      translatedUID: 'uid-a',
      pod: undefined,
      adopted: undefined,
      podIsFinished: false,
      podCouldHaveRunningContainers: () => false,
      patchStrategy: 'strategic-merge',
      now,
      ...row.facts,
    };
    expect(decide(status, apiPodOf(api), facts)).toMatchObject(row.expected);
  });

  it('asks the safety provider about the object that was read, or about the complete pod in its place', () => {
    const asked: (Pod | undefined)[] = [];
    const read = apiPodOf(podOf({ phase: 'Pending' }));
    const completePod = podOf({ phase: 'Pending', message: 'complete' });
    for (const shown of [read, { ...read, completePod }]) {
      decide(running, shown, {
        uid: 'uid-a',
        translatedUID: 'uid-a',
        pod: undefined,
        adopted: undefined,
        podIsFinished: false,
        podCouldHaveRunningContainers: (pod) => asked.push(pod) > 0,
        patchStrategy: 'strategic-merge',
        now,
      });
    }
    expect(asked).toEqual([read.pod, completePod]);
  });
});
