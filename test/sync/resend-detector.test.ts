import { describe, expect, it } from 'vitest';
import type { PodStatusPatch } from '../../src/client/pod-client.ts';
import { ResendDetector } from '../../src/sync/resend-detector.ts';
import type { PodStatusChanges } from '../../src/status/strategic-merge.ts';
import type { Pod } from '../../src/types.ts';
import { recordingLogger } from '../support/recording-logger.ts';

function merge(status: PodStatusChanges): PodStatusPatch {
  return { type: 'application/strategic-merge-patch+json', body: { metadata: { uid: 'a' }, status } };
}

describe('ResendDetector', () => {
  it('warns once, at the third sending of one body for one version', () => {
    const logger = recordingLogger();
    const detector = new ResendDetector(logger);
    const counts = Array.from({ length: 6 }, () => detector.sent('a', 7, merge({ message: 'm' }), undefined));
    expect(counts).toEqual([1, 2, 3, 4, 5, 6]);
    expect(logger.warnings).toEqual([
      {
        level: 'warn',
        message: 'The API server does not keep what is written into the pod status; backing off',
        fields: { podUID: 'a', statusVersion: 7, members: ['message'], managers: [] },
      },
    ]);
  });

  it.each<[string, (detector: ResendDetector) => number]>([
    ['another version', (detector) => detector.sent('a', 2, merge({ message: 'm' }), undefined)],
    ['another body', (detector) => detector.sent('a', 1, merge({ message: 'n' }), undefined)],
    ['another pod', (detector) => detector.sent('b', 1, merge({ message: 'm' }), undefined)],
    [
      'a pod that was forgotten',
      (detector) => {
        detector.forget('a');
        return detector.sent('a', 1, merge({ message: 'm' }), undefined);
      },
    ],
  ])('counts anew for %s', (_what, send) => {
    const logger = recordingLogger();
    const detector = new ResendDetector(logger);
    for (let i = 0; i < 2; i++) detector.sent('a', 1, merge({ message: 'm' }), undefined);
    expect(send(detector)).toBe(1);
    expect(logger.warnings).toEqual([]);
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
  ])('names the members of %s', (_what, patch, members) => {
    const logger = recordingLogger();
    const detector = new ResendDetector(logger);
    for (let i = 0; i < 3; i++) detector.sent('a', 1, patch, undefined);
    expect(logger.warnings[0]!.fields.members).toEqual(members);
  });

  it('names the managers of these members, by managedFields', () => {
    const logger = recordingLogger();
    const detector = new ResendDetector(logger);
    const managedFields = [
      { manager: 'kube-scheduler', fieldsV1: { 'f:status': { 'f:conditions': {} } } },
      { manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {} } } },
      { manager: 'somebody', fieldsV1: { 'f:status': { 'f:message': {}, 'f:reason': {} } } },
      { manager: 'kubectl', fieldsV1: { 'f:metadata': {} } },
      { manager: 'without fields' },
      null,
    ];
    const answer = { metadata: { uid: 'a', managedFields } } as Pod;
    for (let i = 0; i < 3; i++) detector.sent('a', 1, merge({ message: 'm' }), answer);
    expect(logger.warnings[0]!.fields.managers).toEqual(['somebody']);
  });
});
