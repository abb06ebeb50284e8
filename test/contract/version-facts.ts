import type { Json } from '../support/kube-http.ts';
import { PODS_PATH, podManifest, STRATEGIC_MERGE_PATCH, uniqueName } from './pod-api.ts';
import type { ContractServer } from './servers.ts';

/** The minor versions of kube-apiserver on which the facts were observed, oldest first. */
export const coveredVersions = ['1.30', '1.33', '1.37'] as const;
export type CoveredVersion = (typeof coveredVersions)[number];

/** A behaviour that depends on the version of the API server, or that one might expect to. */
export interface VersionFact {
  /** What differs. */
  readonly what: string;
  /** The behaviour by version. */
  readonly on: Readonly<Record<CoveredVersion, string>>;
  observe(server: ContractServer): Promise<string>;
}

const since = (version: CoveredVersion, before: string, after: string): VersionFact['on'] => {
  const from = coveredVersions.indexOf(version);
  const values = coveredVersions.map((covered, index) => [covered, index < from ? before : after]);
  return Object.fromEntries(values) as Record<CoveredVersion, string>;
};
const always = (value: string): VersionFact['on'] => since('1.30', value, value);

const yesOrNo = (isTrue: boolean): string => (isTrue ? 'yes' : 'no');
const asNodeA = (server: ContractServer): { token: string } => ({ token: server.nodeToken('node-a') });

async function createPod(server: ContractServer, overrides: { metadata?: Json; spec?: Json } = {}): Promise<string> {
  const name = uniqueName('fact');
  await server.pods.create(name, overrides);
  return name;
}

/** Creates the pod with a terminated container in its status, and reports that container as running. */
async function statusOfRestart(server: ContractServer, spec: Json): Promise<string> {
  const name = await createPod(server, { spec });
  const terminated = { name: 'c', state: { terminated: { exitCode: 1 } } };
  await server.pods.patchStatus(name, { containerStatuses: [terminated] });
  const containerStatuses = [{ name: 'c', state: { running: {} } }];
  return String((await server.pods.patchStatus(name, { containerStatuses })).status);
}

/** Types of the events of a watch that the server ends after a second. */
async function watchFor(server: ContractServer, query: string): Promise<{ type: string; annotations: Json }[]> {
  const name = await createPod(server);
  const fields = `fieldSelector=metadata.name%3D${name}`;
  const seen: { type: string; annotations: Json }[] = [];
  for await (const { type, object } of await server.http.watch(
    `${PODS_PATH}?watch=true&timeoutSeconds=1&${fields}&${query}`,
  )) {
    seen.push({ type, annotations: object.metadata?.annotations });
  }
  return seen;
}

const facts = {
  'pod-generation': {
    what: 'Pods have `metadata.generation`',
    on: since('1.33', 'no', 'yes'),
    observe: async (server) => {
      const { metadata } = await server.pods.create(uniqueName('fact'));
      return yesOrNo(metadata.generation !== undefined);
    },
  },
  'patch-of-another-uid': {
    what: "PATCH of the status with another object's UID",
    on: since('1.37', '422, the cause twice', '422, the cause once'),
    observe: async (server) => {
      const body = { metadata: { uid: 'other' }, status: { phase: 'Running' } };
      const response = await server.pods.patch(`${await createPod(server)}/status`, body, STRATEGIC_MERGE_PATCH);
      const times = response.body.details?.causes?.length === 1 ? 'once' : 'twice';
      return `${response.status}, the cause ${times}`;
    },
  },
  'delete-of-another-uid': {
    what: "DELETE with another object's UID as precondition",
    on: always('409'),
    observe: async (server) =>
      String((await server.pods.delete(await createPod(server), { preconditions: { uid: 'other' } })).status),
  },
  'qos-class': {
    what: 'A status patch with another `qosClass`; with `qosClass: null`',
    on: since('1.33', 'accepted; removes it', '422; changes nothing'),
    observe: async (server) => {
      const name = await createPod(server);
      const other = await server.pods.patchStatus(name, { qosClass: 'Guaranteed' });
      const removed = await server.pods.patchStatus(await createPod(server), { qosClass: null });
      const isKept = removed.body.status.qosClass !== undefined;
      return `${other.status === 200 ? 'accepted' : other.status}; ${isKept ? 'changes nothing' : 'removes it'}`;
    },
  },
  'mapped-address': {
    what: 'An IPv4-mapped IPv6 address in `podIPs`',
    on: since('1.37', 'accepted', '422'),
    observe: async (server) => {
      const podIP = '::ffff:1.2.3.4';
      const { status } = await server.pods.patchStatus(await createPod(server), { podIP, podIPs: [{ ip: podIP }] });
      return status === 200 ? 'accepted' : String(status);
    },
  },
  'newer-status-fields': {
    what: '`status.volumeHealth` of a wrong type',
    on: since('1.37', 'dropped, like any unknown field', '422'),
    observe: async (server) => {
      const { status } = await server.pods.patchStatus(await createPod(server), { volumeHealth: 5 });
      return status === 200 ? 'dropped, like any unknown field' : String(status);
    },
  },
  'observed-generation': {
    what: '`status.observedGeneration` in a status patch',
    on: since('1.37', 'dropped, like any unknown field', 'kept'),
    observe: async (server) => {
      const { body } = await server.pods.patchStatus(await createPod(server), { observedGeneration: 1 });
      return body.status.observedGeneration === undefined ? 'dropped, like any unknown field' : 'kept';
    },
  },
  'pod-resources': {
    what: '`status.resources` of the pod itself, in a status patch',
    on: since('1.37', 'dropped, like any unknown field', 'kept'),
    observe: async (server) => {
      const status = { resources: { requests: { cpu: '1' } } };
      const { body } = await server.pods.patchStatus(await createPod(server), status);
      return body.status.resources === undefined ? 'dropped, like any unknown field' : 'kept';
    },
  },
  'container-restart-policy': {
    what: 'A regular container with its own `restartPolicy`',
    on: since('1.37', '422', 'accepted'),
    observe: async (server) => {
      const containers = [{ name: 'c', image: 'i', restartPolicy: 'Never' }];
      const body = podManifest(uniqueName('fact'), { spec: { containers } });
      const { status } = await server.http.request('POST', PODS_PATH, { body });
      return status === 201 ? 'accepted' : String(status);
    },
  },
  'restart-of-unknown-container': {
    what: 'A container that the spec does not have leaves `terminated`, under `Always`',
    on: since('1.37', '200', '422'),
    observe: (server) => statusOfRestart(server, { containers: [{ name: 'other', image: 'i' }] }),
  },
  'resize-subresource': {
    what: 'PATCH of the subresource `resize`',
    on: since('1.33', '404', '200'),
    observe: async (server) => {
      const body = { spec: { containers: [{ name: 'c', resources: {} }] } };
      const { status } = await server.pods.patch(`${await createPod(server)}/resize`, body, STRATEGIC_MERGE_PATCH);
      return String(status);
    },
  },
  'get-of-missing-pod': {
    what: "A node's user: GET of a pod that does not exist",
    on: since('1.33', '404', '403'),
    observe: async (server) => String((await server.pods.get(uniqueName('missing'), asNodeA(server))).status),
  },
  'list-of-all-pods': {
    what: "A node's user: list of all pods, without a field selector",
    on: since('1.33', '200', '403'),
    observe: async (server) => String((await server.http.request('GET', '/api/v1/pods', asNodeA(server))).status),
  },
  'get-of-other-node': {
    what: "A node's user: GET of another Node",
    on: since('1.33', '200', '403'),
    observe: async (server) =>
      String((await server.http.request('GET', '/api/v1/nodes/node-b', asNodeA(server))).status),
  },
  'claim-statuses-kept': {
    what: "A node's user: status patch that repeats the pod's `resourceClaimStatuses`",
    on: since('1.37', '403', '200'),
    observe: async (server) => {
      const resourceClaims = [{ name: 'a', resourceClaimTemplateName: 't' }];
      const name = await createPod(server, { spec: { resourceClaims } });
      const status = { resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'x' }] };
      await server.pods.patchStatus(name, status);
      return String((await server.pods.patchStatus(name, { phase: 'Running', ...status }, asNodeA(server))).status);
    },
  },
  'newer-claim-statuses': {
    what: "A node's user: sets `extendedResourceClaimStatus`",
    on: since('1.37', 'dropped, like any unknown field', '403'),
    observe: async (server) => {
      const status = { extendedResourceClaimStatus: { resourceClaimName: 'a', requestMappings: [] } };
      const response = await server.pods.patchStatus(await createPod(server), status, asNodeA(server));
      return response.status === 200 ? 'dropped, like any unknown field' : String(response.status);
    },
  },
  'watch-list': {
    what: 'A watch with `sendInitialEvents=true` (WatchList)',
    on: since('1.37', '200 with an ERROR event of code 422', 'initial events'),
    observe: async (server) => {
      const [first] = await watchFor(server, 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
      return first?.type === 'ERROR' ? '200 with an ERROR event of code 422' : 'initial events';
    },
  },
  'initial-events-end': {
    what: 'A watch without a resourceVersion, with bookmarks: the end of the initial events is marked',
    on: since('1.37', 'no', 'yes'),
    observe: async (server) => {
      const events = await watchFor(server, 'allowWatchBookmarks=true');
      return yesOrNo(events.some(({ annotations }) => annotations?.['k8s.io/initial-events-end'] === 'true'));
    },
  },
} satisfies Readonly<Record<string, VersionFact>>;

export type VersionFactName = keyof typeof facts;

/**
 * The differences between the covered versions of kube-apiserver. The contract reads them where a
 * version differs. One test per version observes each fact.
 */
export const versionFacts: Readonly<Record<VersionFactName, VersionFact>> = facts;

/** The covered version that this one (`1.33.13`) behaves as: its own minor version, or the nearest earlier one. */
export function coveredVersionOf(version: string): CoveredVersion {
  const minor = (text: string): number => Number(text.split('.')[1]);
  return coveredVersions.findLast((covered) => minor(covered) <= minor(version)) ?? coveredVersions[0];
}

/** Whether the version behaves as the newest one, for which the contract is written. */
export function isAsNewest(version: string, fact: VersionFactName): boolean {
  const { on } = versionFacts[fact];
  return on[coveredVersionOf(version)] === on[coveredVersions.at(-1)!];
}
