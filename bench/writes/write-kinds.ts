import type { Pod, PodStatus } from 'kubelet-status-manager';
import { createStatusPatch } from '../../src/status-manager/status/strategic-merge.ts';

/** One way to write the status of a pod. */
export interface WriteKind {
  readonly name: string;
  readonly method: 'PATCH' | 'PUT';
  readonly contentType: string;
  /** The request body that changes the status that `pod` shows into `next`. */
  body(pod: Pod, next: PodStatus): object;
}

/** The first is what the library sends. The last two are refused if anybody else has changed the pod. */
export const writeKinds: readonly WriteKind[] = [
  {
    name: 'strategic merge patch',
    method: 'PATCH',
    contentType: 'application/strategic-merge-patch+json',
    body: ({ metadata, status }, next) => createStatusPatch(metadata!.uid!, (status ?? {}) as PodStatus, next) ?? {},
  },
  {
    name: 'merge patch',
    method: 'PATCH',
    contentType: 'application/merge-patch+json',
    // The whole list: a merge patch replaces it.
    body: ({ metadata }, { containerStatuses }) => ({
      metadata: { uid: metadata!.uid },
      status: { containerStatuses },
    }),
  },
  {
    name: 'JSON patch that tests the resourceVersion',
    method: 'PATCH',
    contentType: 'application/json-patch+json',
    body: ({ metadata }, { containerStatuses = [] }) => [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata!.resourceVersion },
      ...containerStatuses.map(({ restartCount }, i) => {
        return { op: 'replace', path: `/status/containerStatuses/${i}/restartCount`, value: restartCount };
      }),
    ],
  },
  {
    name: 'PUT',
    method: 'PUT',
    contentType: 'application/json',
    body: (pod, status) => ({ ...pod, status }),
  },
];
