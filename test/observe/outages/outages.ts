import { Registry } from 'prom-client';
import { expect } from 'vitest';
import { ConnectionQueue } from '../../../src/kube/http/connection-queue.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { RequestOptions } from '../../../src/kube/client/pod-client.ts';
import { StatusManager, type StatusManagerOptions } from '../../../src/status-manager/index.ts';
import { createInformerPodManager } from '../../../src/kube/informer/index.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { createPrometheusMetrics } from '../../../src/observe/prometheus.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import { fault } from '../../../src/testing/index.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { FakeTransport } from '../../kube/informer/fake-transport.ts';
import { podOf, uidOf } from '../../status-manager/sync/sync-harness.ts';

const always = Number.POSITIVE_INFINITY;
const deletionTimestamp = '2026-01-02T03:04:05Z';

/** A client whose requests wait for the only connection. */
class NarrowClient extends FakePodClient {
  readonly #queue: ConnectionQueue;

  constructor(node: Node) {
    super([], { clock: node.clock });
    this.#queue = new ConnectionQueue({
      connections: 1,
      waitTimeoutMs: 600_000,
      clock: node.clock,
      logger: node.logger,
    });
  }

  override async getPod(...[pod, options]: Parameters<FakePodClient['getPod']>): Promise<Pod> {
    return this.#send(options, () => super.getPod(pod, options));
  }

  async #send<T>(options: RequestOptions, send: () => Promise<T>): Promise<T> {
    await this.#queue.enter(options);
    try {
      return await send();
    } finally {
      this.#queue.leave();
    }
  }
}

/** A manager as an operator runs it, whose log is read at warn, as by default. */
export class Node {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly logger = recordingLogger();
  readonly register = new Registry();
  client = new FakePodClient([], { clock: this.clock });
  readonly podManager = new BasicPodManager();
  #manager: StatusManager | undefined;

  start(options: Partial<StatusManagerOptions> = {}): void {
    this.#manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podCouldHaveRunningContainers: () => false,
      clock: this.clock,
      logger: this.logger,
      metrics: createPrometheusMetrics({ register: this.register }),
      random: () => 0,
      ...options,
    });
    this.client.react(
      {},
      ({ namespace, name }) =>
        () => {
          const pod = this.client.pod(namespace, name);
          if (pod !== undefined) this.podManager.updatePod(pod);
        },
      always,
    );
    this.#manager.start();
  }

  get manager(): StatusManager {
    return this.#manager!;
  }

  add(pod: Pod): Pod {
    this.client.put(pod);
    this.podManager.addPod(pod);
    return pod;
  }

  /** Pods with a status that is not sent yet. */
  set(...names: readonly string[]): void {
    for (const name of names) {
      this.manager.setPodStatus(this.add(podOf(name)), { phase: 'Running', message: 'new' });
    }
  }

  terminate(name: string, finalizers: readonly string[] = []): void {
    this.manager.terminatePod(this.add(podOf(name, { deletionTimestamp, finalizers: [...finalizers] })));
  }

  pass(seconds: number): Promise<void> {
    return this.clock.advanceAsync(seconds * 1_000);
  }
}

/** What one operator sees in one place. */
export interface Seen {
  /** One line of the log at warn: message and fields. */
  readonly log: { readonly message: string; readonly fields: object };
  /** Lines of a scrape, which each must be there. */
  readonly metrics: readonly RegExp[];
  readonly inspect: object;
}

export interface Outage extends Seen {
  readonly name: string;
  /** Causes the outage and lets time pass. */
  readonly cause: (node: Node) => Promise<void>;
}

function httpError(statusCode: number, message: string): APIError {
  return new APIError(message, { kind: 'http', statusCode });
}

const down = 'Pod statuses cannot be written: requests to the API server fail';
const since = '2026-01-02T03:04:05Z';

function waiting(waitingFor: object): object {
  return {
    pods: expect.arrayContaining([expect.objectContaining({ waitingFor: expect.objectContaining(waitingFor) })]),
  };
}

/** A metric of ours with these labels, in this order, and a value above 0. */
function positive(name: string, labels: string): RegExp {
  return new RegExp(String.raw`^kubelet_status_manager_${name}\{${labels}\} (?!0$)`, 'm');
}

/** Each outage that must not be silent, and what an operator sees of it. */
export const outages: readonly Outage[] = [
  {
    name: 'the API server is down',
    cause: async (node) => {
      node.start();
      node.client.fail({}, new APIError('request to 10.0.0.1:6443 failed: ECONNREFUSED', { kind: 'network' }), always);
      node.set('a', 'b');
      await node.pass(50);
    },
    log: {
      message: down,
      fields: { since, unsent: 2, failure: 'Unreachable', reason: expect.stringContaining('ECONNREFUSED') },
    },
    metrics: [
      positive('requests_total', 'verb="get",outcome="Unreachable",code="<error>"'),
      positive('request_duration_seconds_bucket', 'le="0.005",verb="get"'),
      positive('waiting_pods', 'reason="Unreachable"'),
      positive('outage_age_seconds', 'outcome="Unreachable",code="<error>"'),
    ],
    inspect: {
      outage: {
        failure: 'Unreachable',
        statusCode: undefined,
        message: expect.stringContaining('ECONNREFUSED'),
      },
      state: 'running',
    },
  },
  {
    name: 'the credentials have expired (401)',
    cause: async (node) => {
      node.start();
      node.client.fail({}, httpError(401, '401 Unauthorized'), always);
      node.set('a');
      await node.pass(50);
    },
    log: { message: down, fields: { since, unsent: 1, statusCode: 401 } },
    metrics: [positive('requests_total', 'verb="get",outcome="ServiceUnavailable",code="401"')],
    inspect: { outage: { statusCode: 401 } },
  },
  {
    name: 'the API server hangs',
    cause: async (node) => {
      node.start();
      node.client.hold({});
      node.set('a');
      await node.pass(50);
    },
    log: { message: down, fields: { since, unsent: 1, reason: 'No response within 30000 ms' } },
    metrics: [
      positive('requests_total', 'verb="get",outcome="Unreachable",code="<error>"'),
      /^kubelet_status_manager_request_duration_seconds_bucket\{le="15",verb="get"\} 0$/m,
      positive('waiting_pods', 'reason="response"'),
    ],
    inspect: { outage: { message: 'No response within 30000 ms' }, ...waiting({ kind: 'response', verb: 'get' }) },
  },
  {
    name: '403 to GET',
    cause: async (node) => {
      node.start();
      node.client.fail({ verb: 'get' }, httpError(403, '403 Forbidden: pods "a" is forbidden'), always);
      node.set('a');
      await node.pass(50);
    },
    log: {
      message: 'The API server forbids reading or updating the status of a pod',
      fields: { pod: 'default/a', verb: 'get', failure: 'Forbidden', reason: '403 Forbidden: pods "a" is forbidden' },
    },
    metrics: [
      positive('requests_total', 'verb="get",outcome="Forbidden",code="403"'),
      positive('waiting_pods', 'reason="Forbidden"'),
    ],
    inspect: waiting({ kind: 'back-off', class: 'Forbidden', verb: 'get', statusCode: 403 }),
  },
  {
    name: '403 to PATCH',
    cause: async (node) => {
      node.start();
      node.client.fail({ verb: 'patch' }, httpError(403, '403 Forbidden: cannot patch pods/status'), always);
      node.set('a');
      await node.pass(50);
    },
    log: {
      message: 'The API server forbids reading or updating the status of a pod',
      fields: { pod: 'default/a', verb: 'patch', reason: '403 Forbidden: cannot patch pods/status' },
    },
    metrics: [
      positive('requests_total', 'verb="patch",outcome="Forbidden",code="403"'),
      positive('waiting_pods', 'reason="Forbidden"'),
    ],
    inspect: waiting({ kind: 'back-off', class: 'Forbidden', verb: 'patch', statusCode: 403 }),
  },
  {
    name: 'a refused DELETE',
    cause: async (node) => {
      node.start();
      node.client.fail({ verb: 'delete' }, httpError(403, '403 Forbidden: cannot delete pods'), always);
      node.terminate('a');
      await node.pass(50);
    },
    log: {
      message: 'The API server refuses to delete a pod',
      fields: { pod: 'default/a', verb: 'delete', reason: '403 Forbidden: cannot delete pods' },
    },
    metrics: [
      positive('terminating_pods', 'waiting_for="delete"'),
      positive('requests_total', 'verb="delete",outcome="Invalid",code="403"'),
    ],
    inspect: waiting({ kind: 'back-off', class: 'Invalid', verb: 'delete', statusCode: 403 }),
  },
  {
    name: 'a pod stuck Terminating by podCouldHaveRunningContainers',
    cause: async (node) => {
      node.start({ podCouldHaveRunningContainers: () => true });
      node.terminate('a');
      await node.pass(3_600);
    },
    log: {
      message:
        'Pod is stuck terminating: the manager holds its terminal phase back while podCouldHaveRunningContainers returns true',
      fields: { pod: 'default/a', podUID: uidOf('a'), since },
    },
    metrics: [
      positive('terminating_pods', 'waiting_for="pod-deletion-safety"'),
      /^kubelet_status_manager_oldest_terminating_age_seconds\{waiting_for="pod-deletion-safety"\} 3600$/m,
      positive('waiting_pods', 'reason="pod-deletion-safety"'),
    ],
    inspect: waiting({ kind: 'pod-deletion-safety', since }),
  },
  {
    name: 'a pod stuck Terminating by a finalizer',
    cause: async (node) => {
      node.start();
      node.terminate('a', ['example.com/backup']);
      await node.pass(3_600);
    },
    log: {
      message: 'Pod is stuck terminating: it has finalizers',
      fields: { pod: 'default/a', finalizers: ['example.com/backup'], since },
    },
    metrics: [
      positive('terminating_pods', 'waiting_for="finalizers"'),
      /^kubelet_status_manager_oldest_terminating_age_seconds\{waiting_for="finalizers"\} 3600$/m,
    ],
    inspect: {
      requestedDeletions: [{ podUID: uidOf('a'), podName: 'a', finalizers: ['example.com/backup'], since }],
    },
  },
  {
    name: 'a hot loop by another writer',
    cause: async (node) => {
      const undo = (name: string): void => {
        const pod = node.client.pod('default', name)!;
        const managedFields = [{ manager: 'other-agent', fieldsV1: { 'f:status': { 'f:message': {} } } }];
        node.client.put({
          ...pod,
          metadata: { ...pod.metadata, managedFields },
          status: { ...pod.status, message: 'old' },
        });
      };
      node.client.react(
        { verb: 'patch' },
        ({ name }) =>
          () =>
            undo(name),
        always,
      );
      node.start();
      node.set('a');
      await node.pass(60);
    },
    log: {
      message: 'The API server does not keep what is written into the pod status; backing off',
      fields: { pod: 'default/a', fields: ['message'], managers: ['other-agent'] },
    },
    metrics: [positive('waiting_pods', 'reason="hot-loop"'), positive('outcomes_total', 'outcome="hot-loop"')],
    inspect: waiting({ kind: 'hot-loop' }),
  },
  {
    name: 'a throttled client (429)',
    cause: async (node) => {
      node.start();
      const error = new APIError('429 TooManyRequests', { kind: 'http', statusCode: 429, retryAfterMs: 20_000 });
      node.client.fail({}, error, always);
      node.set('a', 'b');
      await node.pass(50);
    },
    log: { message: down, fields: { failure: 'TooManyRequests', statusCode: 429, reason: '429 TooManyRequests' } },
    metrics: [
      positive('requests_total', 'verb="get",outcome="TooManyRequests",code="429"'),
      positive('waiting_pods', 'reason="TooManyRequests"'),
    ],
    inspect: {
      outage: { failure: 'TooManyRequests', statusCode: 429 },
      ...waiting({ class: 'TooManyRequests', statusCode: 429 }),
    },
  },
  {
    name: 'a slow API server, with requests that wait for a connection',
    cause: async (node) => {
      node.client = new NarrowClient(node);
      node.client.faults.next({ verb: 'get', count: always }, fault.delay(12_000));
      node.start();
      node.set('a', 'b', 'c', 'd', 'e', 'f', 'g');
      await node.pass(50);
    },
    log: {
      message: 'Requests are queued for long: the API server responds slowly, or their number is limited too much',
      fields: { connections: 1 },
    },
    metrics: [
      positive('waiting_pods', 'reason="connection"'),
      positive('requests_total', 'verb="get",outcome="ok",code="2xx"'),
      /^kubelet_status_manager_request_duration_seconds_bucket\{le="8",verb="get"\} 0$/m,
    ],
    inspect: waiting({ kind: 'connection', verb: 'get' }),
  },
  {
    name: 'a drain that gives up',
    cause: async (node) => {
      node.start();
      node.client.fail({}, 500, always);
      node.set('a', 'b');
      const stopped = node.manager.stop({ drain: true, deadlineMs: 5_000 });
      await node.pass(5);
      await stopped;
    },
    log: {
      message: 'Stopping with unsent pod statuses',
      fields: { unsent: 2, pods: ['default/a', 'default/b'], drainMs: 5_000 },
    },
    metrics: [/^kubelet_status_manager_unsent_at_stop_total 2$/m],
    inspect: { state: 'stopped', ...waiting({ kind: 'not-running' }) },
  },
  {
    name: 'an informer that is not synced',
    cause: async (node) => {
      const podManager = createInformerPodManager({
        client: { transport: new FakeTransport() },
        nodeName: 'node-1',
        clock: node.clock,
        logger: node.logger,
        random: () => 0,
        listTimeoutMs: 10_000,
      });
      podManager.start();
      node.start({ podManager });
      await node.pass(50);
      void podManager.stop();
    },
    log: {
      message: 'Failed to list and watch the pods of the node',
      fields: { nodeName: 'node-1', next: 'list', kind: 'timeout', failingSince: since },
    },
    metrics: [/^kubelet_status_manager_informer_synced 0$/m, /^kubelet_status_manager_informer_restarts_total [1-9]/m],
    inspect: {
      informer: {
        isSynced: false,
        lastEventAt: undefined,
        failure: { failingSince: since, reason: 'request failed: TimeoutError' },
      },
    },
  },
];
