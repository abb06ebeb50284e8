import { describe, expect, it } from 'vitest';
import type { PodStatusPatch } from '../../../src/kube/client/pod-client.ts';
import { HotLoops, hotLoopThreshold, type SentVersion } from '../../../src/status-manager/sync/hot-loops.ts';
import { type HotLoop, PodRecords } from '../../../src/status-manager/sync/pod-records.ts';
import type { PodStatusChanges } from '../../../src/kube/client/pod-client.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { type RecordingLogger, recordingLogger } from '../../../src/testing/recording-logger.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

function merge(status: PodStatusChanges): PodStatusPatch {
  return { type: 'application/strategic-merge-patch+json', body: { metadata: { uid: 'a' }, status } };
}

function jsonPatch(uid: string): PodStatusPatch {
  const body = [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'add', path: '/status/message', value: 'm' },
  ] as const;
  return { type: 'application/json-patch+json', body };
}

const shown: Pod = { metadata: { uid: 'a', namespace: 'default', name: 'web' } };

function version(number: number): SentVersion {
  return { podNamespace: 'default', podName: 'web', version: number };
}

/** Hot loops of pods by UID. */
class Detector {
  readonly records = new PodRecords();
  readonly #hotLoops: HotLoops;

  constructor(logger: RecordingLogger) {
    this.#hotLoops = new HotLoops(logger);
  }

  /** How often the patch has been sent for this version now. */
  sent(uid: string, ...sent: [SentVersion, PodStatusPatch, Pod, Pod]): number {
    const record = this.records.of(uid);
    const isHotLoop = this.#hotLoops.sent(record, ...sent);
    const { timesSent } = record.lastPatch!;
    if (isHotLoop !== timesSent >= hotLoopThreshold) throw new Error(`sent ${timesSent} times, hot loop: ${isHotLoop}`);
    return timesSent;
  }

  kept(uid: string, versioned: SentVersion): void {
    this.#hotLoops.kept(this.records.of(uid), versioned);
    this.records.release(uid);
  }

  hotLoopOf(uid: string): HotLoop | undefined {
    return this.records.get(uid)?.lastPatch?.hotLoop;
  }
}

describe('HotLoops', () => {
  it('warns once, at the third sending of one body for one version', () => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    const counts = Array.from({ length: 6 }, () =>
      detector.sent('a', version(7), merge({ message: 'm' }), shown, shown),
    );
    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    expect(logger.warnings).toEqual([
      {
        level: 'warn',
        message: 'The API server does not keep what is written into the pod status; backing off',
        fields: { pod: 'default/web', podUID: 'a', statusVersion: 7, fields: ['message'], managers: [] },
      },
    ]);
  });

  it.each<[string, (detector: Detector) => number]>([
    ['another version', (detector) => detector.sent('a', version(2), merge({ message: 'm' }), shown, shown)],
    ['another body', (detector) => detector.sent('a', version(1), merge({ message: 'n' }), shown, shown)],
    ['another pod', (detector) => detector.sent('b', version(1), merge({ message: 'm' }), shown, shown)],
    [
      'another mirror pod of a static pod, with a JSON patch',
      (detector) => {
        detector.sent('s', version(1), jsonPatch('mirror-1'), shown, shown);
        return detector.sent('s', version(1), jsonPatch('mirror-2'), shown, shown);
      },
    ],
    [
      'a pod whose status was dropped',
      (detector) => {
        detector.records.drop('a');
        return detector.sent('a', version(1), merge({ message: 'm' }), shown, shown);
      },
    ],
  ])('restarts the count for %s', (_what, send) => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    for (let i = 0; i < 2; i++) detector.sent('a', version(1), merge({ message: 'm' }), shown, shown);
    expect(send(detector)).toBe(1);
    expect(logger.warnings).toEqual([]);
  });

  it.each<[string, (time: string) => PodStatusPatch, string]>([
    [
      'times alone, in a strategic merge patch',
      (time) => merge({ conditions: [{ type: 'Ready', lastTransitionTime: time }] }),
      'Terminal pod still has Ready=True cached',
    ],
    [
      'times alone, in a JSON patch',
      (time) => ({
        type: 'application/json-patch+json',
        body: [{ op: 'replace', path: '/status/conditions/0/lastTransitionTime', value: time }],
      }),
      'Terminal pod still has Ready=True cached',
    ],
    [
      'times alone, with the order of the conditions',
      (time) =>
        merge({
          '$setElementOrder/conditions': [{ type: 'Ready' }],
          conditions: [{ type: 'Ready', lastTransitionTime: time }],
        }),
      'Terminal pod still has Ready=True cached',
    ],
    [
      'the time of one condition, and the status of another',
      (time) =>
        merge({
          conditions: [
            { type: 'Ready', lastTransitionTime: time },
            { type: 'Initialized', status: 'True' },
          ],
        }),
      'The API server does not keep what is written',
    ],
    [
      'times and a message',
      (time) => merge({ message: 'm', conditions: [{ type: 'Ready', lastTransitionTime: time }] }),
      'The API server does not keep what is written',
    ],
    [
      'a time and a status, in a JSON patch',
      (time) => ({
        type: 'application/json-patch+json',
        body: [
          { op: 'replace', path: '/status/conditions/0/lastTransitionTime', value: time },
          { op: 'replace', path: '/status/conditions/0/status', value: 'False' },
        ],
      }),
      'The API server does not keep what is written',
    ],
    [
      'a condition with its time',
      (time) => merge({ conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: time }] }),
      'The API server does not keep what is written',
    ],
  ])('looks past times, which the merge sets to now at each sync: %s', (_what, patchAt, message) => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    const times = ['2026-01-02T03:04:05Z', '2026-01-02T03:04:15Z', '2026-01-02T03:04:25Z'];
    expect(times.map((time) => detector.sent('a', version(1), patchAt(time), shown, shown))).toEqual([1, 2, 3]);
    expect(logger.warnings).toMatchObject([{ message: expect.stringContaining(message) }]);
  });

  it.each<[string, PodStatusPatch, string[]]>([
    [
      'a strategic merge patch, without its directives',
      merge({ '$setElementOrder/conditions': [], conditions: [], volumeHealth: [] }),
      ['conditions', 'volumeHealth'],
    ],
    [
      'a JSON patch, without its tests',
      {
        type: 'application/json-patch+json',
        body: [
          { op: 'test', path: '/metadata/uid', value: 'a' },
          { op: 'test', path: '/status/containerStatuses/0/name', value: 'app' },
          { op: 'replace', path: '/status/conditions/0/status', value: 'True' },
          { op: 'remove', path: '/status/conditions/0/message' },
          { op: 'add', path: '/status/volumeHealth', value: [] },
        ],
      },
      ['conditions', 'volumeHealth'],
    ],
    [
      'a JSON patch of an object without a status',
      { type: 'application/json-patch+json', body: [{ op: 'add', path: '/status', value: {} }] },
      ['status'],
    ],
  ])('names the fields of %s', (_what, patch, fields) => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    for (let i = 0; i < 3; i++) detector.sent('a', version(1), patch, shown, shown);
    expect(logger.warnings[0]!.fields.fields).toEqual(fields);
  });

  it('restarts the count for another value in a JSON patch', () => {
    const detector = new Detector(recordingLogger());
    const replace = (value: string): PodStatusPatch => ({
      type: 'application/json-patch+json',
      body: [{ op: 'replace', path: '/status/message', value }],
    });
    expect(['a', 'a', 'b'].map((value) => detector.sent('a', version(1), replace(value), shown, shown))).toEqual([
      1, 2, 1,
    ]);
  });

  it('shows the hot loops until the API server keeps a patch, and logs that once', () => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    const send = (uid: string, times: number): void => {
      for (let i = 0; i < times; i++) detector.sent(uid, version(1), merge({ message: 'm' }), shown, shown);
    };
    send('a', 4);
    send('b', 2);
    send('c', 1);
    expect(['b', 'c', 'unknown'].map((uid) => detector.hotLoopOf(uid))).toEqual([undefined, undefined, undefined]);
    expect(detector.hotLoopOf('a')).toEqual({ fields: ['message'], managers: [], timesSent: 4 });
    detector.kept('a', version(1));
    detector.kept('b', version(1));
    detector.kept('unknown', version(1));
    // Only `c` has a record: nothing is known of its patch yet.
    expect(Array.from(detector.records.values(), ({ uid }) => uid)).toEqual(['c']);
    expect(linesAtInfo(logger).slice(1)).toEqual([
      {
        level: 'info',
        message: 'The API server preserves written pod statuses again',
        fields: { pod: 'default/web', podUID: 'a', statusVersion: 1, fields: ['message'], managers: [] },
      },
    ]);
  });

  it('names the managers of what a JSON patch changes', () => {
    const managedFields = [
      { manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {} } } },
      { manager: 'innocent', fieldsV1: { 'f:status': { 'f:reason': {} } } },
    ];
    const detector = new Detector(recordingLogger());
    const body = [{ op: 'replace', path: '/status/message', value: 'm' }] as const;
    const before = { metadata: { uid: 'a', managedFields } };
    for (let i = 0; i < 3; i++)
      detector.sent('a', version(1), { type: 'application/json-patch+json', body }, before, shown);
    expect(detector.hotLoopOf('a')).toMatchObject({ managers: ['somebody'] });
  });

  it('takes no field manager for our own that shares a field with another', () => {
    const managedFields = ['webhook', 'ourselves'].map((manager) => ({
      manager,
      fieldsV1: { 'f:status': { 'f:message': {} } },
    }));
    const both: Pod = { metadata: { ...shown.metadata, managedFields } };
    const detector = new Detector(recordingLogger());
    for (let i = 0; i < 3; i++) detector.sent('a', version(1), merge({ message: 'm' }), both, both);
    expect(detector.hotLoopOf('a')).toMatchObject({ managers: ['webhook', 'ourselves'] });
  });

  it('names the managers of these fields, by managedFields', () => {
    const logger = recordingLogger();
    const detector = new Detector(logger);
    const managedFields = [
      { manager: 'kube-scheduler', fieldsV1: { 'f:status': { 'f:conditions': {} } } },
      { manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {} } } },
      { manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {}, 'f:reason': {} } } },
      { manager: 'kubectl', fieldsV1: { 'f:metadata': {} } },
      { manager: 'without fields' },
      null as never,
    ];
    for (let i = 0; i < 3; i++)
      detector.sent('a', version(1), merge({ message: 'm' }), { metadata: { uid: 'a', managedFields } }, shown);
    expect(logger.warnings[0]!.fields.managers).toEqual(['somebody']);
  });

  it('does not name our own field manager, which the response to a PATCH shows', () => {
    const ownedBy = (...managers: string[]): Pod => ({
      metadata: {
        ...shown.metadata,
        managedFields: managers.map((manager) => ({ manager, fieldsV1: { 'f:status': { 'f:message': {} } } })),
      },
    });
    const logger = recordingLogger();
    const detector = new Detector(logger);
    detector.sent('b', version(1), merge({ message: 'm' }), shown, ownedBy('ourselves'));
    for (let i = 0; i < 3; i++)
      detector.sent(
        'a',
        version(1),
        merge({ message: 'm' }),
        ownedBy('ourselves', 'webhook'),
        ownedBy('ourselves', 'webhook'),
      );
    expect(logger.warnings[0]!.fields.managers).toEqual(['webhook']);
  });

  it('names of those who write conditions only the one who wrote what the patch changes', () => {
    const conditions = (type: string, ...fields: string[]): object => ({
      'f:status': {
        'f:conditions': {
          [`k:{"type":"${type}"}`]: Object.fromEntries(['.', 'f:type', ...fields].map((name) => [name, {}])),
        },
      },
    });
    const managedFields = [
      { manager: 'innocent', fieldsV1: conditions('example.com/gate', 'f:status') },
      { manager: 'ourselves', fieldsV1: conditions('Ready', 'f:lastProbeTime') },
      { manager: 'culprit', fieldsV1: conditions('Ready', 'f:status') },
      { manager: 'of no list', fieldsV1: { 'f:status': { 'f:conditions': { 'k:{': { 'f:status': {} } } } } },
      {
        manager: 'of another list',
        fieldsV1: { 'f:status': { 'f:podIPs': { 'k:{"ip":"10.0.0.1"}': { 'f:ip': {} } } } },
      },
    ];
    const before = { metadata: { uid: 'a', managedFields } } as Pod;
    const logger = recordingLogger();
    const detector = new Detector(logger);
    const patches: [string, PodStatusPatch][] = [
      ['changed', merge({ conditions: [{ type: 'Ready', status: 'True' }] })],
      ['deleted', merge({ conditions: [{ $patch: 'delete', type: 'example.com/gate' }] })],
      ['all', merge({ conditions: null })],
    ];
    for (const [uid, patch] of patches)
      for (let i = 0; i < 3; i++) detector.sent(uid, version(1), patch, before, shown);
    expect(logger.warnings.map(({ fields }) => [fields.podUID, fields.managers])).toEqual([
      ['changed', ['culprit']],
      ['deleted', ['innocent']],
      ['all', ['innocent', 'ourselves', 'culprit', 'of no list']],
    ]);
  });
});
