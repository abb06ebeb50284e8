import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { type KubeletMetric, kubeletMetrics } from '../../src/observe/kubelet-metrics.ts';
import type { StatusGauges } from '../../src/status-manager/metrics.ts';
import { createPrometheusMetrics } from '../../src/observe/prometheus.ts';

/** What a scrape shows, a line per value, without comments, the build info and what is unsent at stop. */
async function scrape(register: Registry): Promise<string[]> {
  const text = await register.metrics();
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#') && !/build_info|unsent_at_stop/.test(line));
}

async function linesOf(register: Registry, name: string): Promise<string[]> {
  return (await scrape(register)).filter((line) => line.startsWith(name));
}

function gauges(cachedStatuses: number, unsentStatuses: number, oldestUnsentAgeSeconds: number): StatusGauges {
  return {
    cachedStatuses,
    unsentStatuses,
    oldestUnsentAgeSeconds,
    waitingPods: [],
    terminatingPods: [],
    lastSuccessfulRequestAgeSeconds: undefined,
    outage: undefined,
    hotLoopPods: 0,
    rejectedPods: 0,
    isJournalFailing: undefined,
    informer: undefined,
  };
}

/** Each metric with kind, labels and buckets: kubelet behaviour §24, and ours. */
const metrics: readonly { name: string; type: string; labels: string[]; buckets?: number[] }[] = [
  {
    name: 'kubelet_pod_status_sync_duration_seconds',
    type: 'histogram',
    labels: [],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 45, 60],
  },
  { name: 'kubelet_terminated_containers_total', type: 'counter', labels: ['container_type', 'exit_code', 'reason'] },
  { name: 'kubelet_pod_pending_resizes', type: 'gauge', labels: ['reason', 'priority_bucket'] },
  { name: 'kubelet_pod_in_progress_resizes', type: 'gauge', labels: [] },
  {
    name: 'kubelet_pod_deferred_resize_duration_seconds',
    type: 'histogram',
    labels: ['resolution', 'priority_bucket'],
    buckets: [5, 10, 15, 20, 30, 45, 60, 90, 120, 150, 180, 300, 600, 1200, 1800, 3600],
  },
  { name: 'kubelet_status_manager_cached_statuses', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_unsent_statuses', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_oldest_unsent_age_seconds', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_waiting_pods', type: 'gauge', labels: ['reason'] },
  { name: 'kubelet_status_manager_terminating_pods', type: 'gauge', labels: ['waiting_for'] },
  { name: 'kubelet_status_manager_oldest_terminating_age_seconds', type: 'gauge', labels: ['waiting_for'] },
  { name: 'kubelet_status_manager_hot_loop_pods', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_rejected_pods', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_outage_age_seconds', type: 'gauge', labels: ['outcome', 'code'] },
  { name: 'kubelet_status_manager_journal_failing', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_last_successful_request_age_seconds', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_informer_synced', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_informer_last_event_age_seconds', type: 'gauge', labels: [] },
  { name: 'kubelet_status_manager_informer_restarts_total', type: 'counter', labels: [] },
  ...['relist_age_seconds', 'lease_age_seconds', 'lease_duration_seconds', 'node_registered', 'failing_pods'].map(
    (name) => ({ name: `kubelet_node_agent_${name}`, type: 'gauge', labels: [] }),
  ),
  ...[
    ...['refused_manifests', 'virtual_nodes', 'provider_calls_in_progress', 'provider_queued_calls'],
    ...['provider_longest_queued_seconds', 'provider_list_failing_seconds', 'provider_invalid_list'],
    'provider_unlisted_seconds',
  ].map((name) => ({ name: `kubelet_node_agent_${name}`, type: 'gauge', labels: [] })),
  { name: 'kubelet_node_agent_provider_calls_total', type: 'counter', labels: ['operation', 'result'] },
  { name: 'kubelet_node_agent_probes_total', type: 'counter', labels: ['probe_type', 'result'] },
  { name: 'kubelet_node_agent_lost_pods_total', type: 'counter', labels: [] },
  { name: 'kubelet_evictions', type: 'counter', labels: ['eviction_signal'] },
  { name: 'kubelet_runtime_operations_total', type: 'counter', labels: ['operation_type'] },
  { name: 'kubelet_runtime_operations_errors_total', type: 'counter', labels: ['operation_type'] },
  {
    name: 'kubelet_runtime_operations_duration_seconds',
    type: 'histogram',
    labels: ['operation_type'],
    // ExponentialBuckets(.005, 2.5, 14)
    buckets: [
      0.005, 0.0125, 0.03125, 0.078125, 0.195313, 0.488281, 1.2207, 3.05176, 7.62939, 19.0735, 47.6837, 119.209,
      298.023, 745.058,
    ],
  },
  {
    name: 'kubelet_pleg_relist_duration_seconds',
    type: 'histogram',
    labels: [],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  ...['pleg_relist_interval_seconds', 'pleg_pod_relist_duration_seconds', 'pod_worker_start_duration_seconds'].map(
    (name) => ({
      ...{ name: `kubelet_${name}`, type: 'histogram', labels: [] },
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    }),
  ),
  { name: 'kubelet_pleg_last_seen_seconds', type: 'gauge', labels: [] },
  { name: 'kubelet_containers_per_pod_count', type: 'histogram', labels: [], buckets: [1, 2, 4, 8, 16] },
  {
    name: 'kubelet_pod_worker_duration_seconds',
    type: 'histogram',
    labels: ['operation_type'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  },
  {
    name: 'kubelet_pod_start_duration_seconds',
    type: 'histogram',
    labels: [],
    buckets: [
      0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
    ],
  },
  { name: 'kubelet_started_pods_total', type: 'counter', labels: [] },
  { name: 'kubelet_started_pods_errors_total', type: 'counter', labels: [] },
  { name: 'kubelet_started_containers_total', type: 'counter', labels: ['container_type'] },
  { name: 'kubelet_started_containers_errors_total', type: 'counter', labels: ['container_type', 'code'] },
  {
    name: 'kubelet_image_pull_duration_seconds',
    type: 'histogram',
    labels: ['image_size_in_bytes'],
    buckets: [1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600],
  },
  { name: 'kubelet_image_garbage_collected_total', type: 'counter', labels: ['reason'] },
  { name: 'kubelet_preemptions', type: 'counter', labels: ['preemption_signal'] },
  { name: 'kubelet_admission_rejections_total', type: 'counter', labels: ['reason'] },
  { name: 'kubelet_desired_pods', type: 'gauge', labels: ['static'] },
  { name: 'kubelet_active_pods', type: 'gauge', labels: ['static'] },
  { name: 'kubelet_mirror_pods', type: 'gauge', labels: [] },
  { name: 'kubelet_working_pods', type: 'gauge', labels: ['lifecycle', 'config', 'static'] },
  { name: 'kubelet_restarted_pods_total', type: 'counter', labels: ['static'] },
  { name: 'kubelet_orphaned_runtime_pods_total', type: 'counter', labels: [] },
  { name: 'kubelet_cgroup_version', type: 'gauge', labels: [] },
  { name: 'kubelet_running_pods', type: 'gauge', labels: [] },
  { name: 'kubelet_running_containers', type: 'gauge', labels: ['container_state'] },
  { name: 'kubelet_node_agent_replica_member', type: 'gauge', labels: [] },
  { name: 'kubelet_node_agent_replica_owned_nodes', type: 'gauge', labels: [] },
  { name: 'kubelet_node_agent_replica_taken_nodes_total', type: 'counter', labels: [] },
  { name: 'kubelet_node_agent_replica_renewal_age_seconds', type: 'gauge', labels: [] },
  { name: 'kubelet_node_agent_rejected_reviews_total', type: 'counter', labels: ['resource'] },
  { name: 'kubelet_status_manager_build_info', type: 'gauge', labels: ['version'] },
  { name: 'kubelet_status_manager_requests_total', type: 'counter', labels: ['verb', 'outcome', 'code'] },
  {
    name: 'kubelet_status_manager_request_duration_seconds',
    type: 'histogram',
    labels: ['verb'],
    buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60],
  },
  { name: 'kubelet_status_manager_unsent_at_stop_total', type: 'counter', labels: [] },
  { name: 'kubelet_status_manager_refused_updates_total', type: 'counter', labels: ['reason'] },
  { name: 'kubelet_status_manager_outcomes_total', type: 'counter', labels: ['outcome'] },
];

describe('createPrometheusMetrics', () => {
  it('registers these metrics and no others', () => {
    const register = new Registry();
    createPrometheusMetrics({ register });
    const names = register.getMetricsAsArray().map(({ name }) => name);
    expect(names.sort()).toEqual(metrics.map(({ name }) => name).sort());
  });

  it.each(metrics)('has the $type $name', async ({ name, type, labels, buckets }) => {
    const register = new Registry();
    const adapter = createPrometheusMetrics({ register });
    adapter.observePodStatusSyncDuration(0);
    adapter.incTerminatedContainers('container', 0, 'Completed');
    adapter.setPendingResizes([{ reason: 'deferred', priorityBucket: 'normal', count: 1 }]);
    adapter.observeDeferredResizeDuration('accepted', 'normal', 0);
    adapter.incRequests('get', 'ok', '2xx');
    adapter.incRefusedUpdates('illegal-container-transition');
    adapter.incOutcomes('written');
    adapter.observeRequestDuration('get', 0);
    for (const kubeletMetric of Object.keys(kubeletMetrics) as KubeletMetric[])
      adapter.recordKubeletMetric(kubeletMetric, 1, 'x');
    adapter.registerAgentGauges(() => ({
      ...{ relistAgeSeconds: 1, leaseAgeSeconds: 1, leaseDurationSeconds: 40, isNodeRegistered: true },
      ...{ failingPods: 1, refusedManifests: 1, runningPods: 2, containers: { running: 3 } },
      provider: {
        ...{
          nodes: 20,
          callsInProgress: 1,
          queuedCalls: 1,
          longestQueuedSeconds: 1,
          listFailingSeconds: 1,
          unlistedSeconds: 1,
        },
        hasInvalidPods: true,
      },
      replica: { isMember: true, ownedNodes: 20, takenNodes: 40, renewalAgeSeconds: 1 },
    }));
    adapter.registerStatusGauges(() => ({
      ...gauges(1, 1, 1),
      waitingPods: [{ reason: 'hot-loop', count: 1 }],
      terminatingPods: [{ waitingFor: 'finalizers', count: 1, oldestAgeSeconds: 1 }],
      outage: { ageSeconds: 31, outcome: 'ServiceUnavailable', code: '401' },
      isJournalFailing: true,
      lastSuccessfulRequestAgeSeconds: 1,
      informer: { isSynced: true, lastEventAgeSeconds: 1, restarts: 1 },
    }));

    const metric = (await register.getMetricsAsJSON()).find((json) => json.name === name)!;
    expect(metric.type).toBe(type);
    const values = metric.values as { labels: Record<string, unknown> }[];
    expect(values.length).toBeGreaterThan(0);
    for (const value of values) expect(Object.keys(value.labels).filter((label) => label !== 'le')).toEqual(labels);
    const bounds = values.map((value) => value.labels['le']).filter((le) => typeof le === 'number');
    expect(bounds).toEqual(buckets ?? []);
  });

  it('counts and observes under the labels given', async () => {
    const register = new Registry();
    const adapter = createPrometheusMetrics({ register });
    adapter.incTerminatedContainers('init_container', 137, 'Error');
    adapter.incTerminatedContainers('init_container', 137, 'Error');
    adapter.incRequests('patch', 'Invalid', '422');
    adapter.incRefusedUpdates('illegal-container-transition');
    for (const outcome of ['written', 'superseded', 'written'] as const) adapter.incOutcomes(outcome);
    adapter.observePodStatusSyncDuration(0.25);
    adapter.observeDeferredResizeDuration('reverted', 'very-low', 7);
    expect(await scrape(register)).toEqual(
      expect.arrayContaining([
        'kubelet_terminated_containers_total{container_type="init_container",exit_code="137",reason="Error"} 2',
        'kubelet_status_manager_requests_total{verb="patch",outcome="Invalid",code="422"} 1',
        'kubelet_status_manager_refused_updates_total{reason="illegal-container-transition"} 1',
        'kubelet_status_manager_outcomes_total{outcome="written"} 2',
        'kubelet_status_manager_outcomes_total{outcome="superseded"} 1',
        'kubelet_pod_status_sync_duration_seconds_sum 0.25',
        'kubelet_pod_deferred_resize_duration_seconds_sum{resolution="reverted",priority_bucket="very-low"} 7',
      ]),
    );
  });

  it('counts terminations with ever new reasons in a bounded number of series', async () => {
    const register = new Registry();
    const adapter = createPrometheusMetrics({ register });
    for (let i = 0; i < 2000; i++) adapter.incTerminatedContainers('container', 1, `EvictedFromHost${i}`);
    adapter.incTerminatedContainers('container', 1, 'EvictedFromHost0');
    const lines = await linesOf(register, 'kubelet_terminated_containers_total');
    expect(lines).toHaveLength(501);
    expect(lines).toContain(
      'kubelet_terminated_containers_total{container_type="container",exit_code="other",reason="Other"} 1500',
    );
    expect(lines).toContain(
      'kubelet_terminated_containers_total{container_type="container",exit_code="1",reason="EvictedFromHost0"} 2',
    );
  });

  it('drops earlier counts of pending resizes', async () => {
    const register = new Registry();
    const adapter = createPrometheusMetrics({ register });
    adapter.setPendingResizes([{ reason: 'deferred', priorityBucket: 'high', count: 3 }]);
    adapter.setPendingResizes([{ reason: 'infeasible', priorityBucket: 'low', count: 1 }]);
    adapter.setInProgressResizes(4);
    adapter.setInProgressResizes(2);
    expect(await linesOf(register, 'kubelet_pod_pending_resizes')).toEqual([
      'kubelet_pod_pending_resizes{reason="infeasible",priority_bucket="low"} 1',
    ]);
    expect(await linesOf(register, 'kubelet_pod_in_progress_resizes')).toEqual(['kubelet_pod_in_progress_resizes 2']);
  });

  it('reads the status gauges at each scrape', async () => {
    const register = new Registry();
    let now = gauges(3, 2, 1.5);
    createPrometheusMetrics({ register }).registerStatusGauges(() => now);
    expect(await linesOf(register, 'kubelet_status_manager_')).toEqual([
      'kubelet_status_manager_cached_statuses 3',
      'kubelet_status_manager_unsent_statuses 2',
      'kubelet_status_manager_oldest_unsent_age_seconds 1.5',
      'kubelet_status_manager_rejected_pods 0',
      'kubelet_status_manager_hot_loop_pods 0',
    ]);
    now = gauges(1, 0, 0);
    expect(await linesOf(register, 'kubelet_status_manager_')).toEqual([
      'kubelet_status_manager_cached_statuses 1',
      'kubelet_status_manager_unsent_statuses 0',
      'kubelet_status_manager_oldest_unsent_age_seconds 0',
      'kubelet_status_manager_rejected_pods 0',
      'kubelet_status_manager_hot_loop_pods 0',
    ]);
  });

  it("shows waiting pods by reason and the informer's state; several managers are summed, ages are the maximum", async () => {
    const register = new Registry();
    const values = (count: number, seconds: number): StatusGauges => ({
      ...gauges(0, 0, 0),
      waitingPods: [{ reason: 'Forbidden', count }],
      terminatingPods: [{ waitingFor: 'delete', count, oldestAgeSeconds: seconds }],
      lastSuccessfulRequestAgeSeconds: seconds,
      informer: { isSynced: true, lastEventAgeSeconds: seconds, restarts: count },
    });
    createPrometheusMetrics({ register }).registerStatusGauges(() => values(2, 50));
    createPrometheusMetrics({ register }).registerStatusGauges(() => values(3, 40));
    for (let scrapes = 0; scrapes < 2; scrapes++) {
      expect((await linesOf(register, 'kubelet_status_manager_')).slice(3)).toEqual([
        'kubelet_status_manager_waiting_pods{reason="Forbidden"} 5',
        'kubelet_status_manager_terminating_pods{waiting_for="delete"} 5',
        'kubelet_status_manager_oldest_terminating_age_seconds{waiting_for="delete"} 50',
        'kubelet_status_manager_rejected_pods 0',
        'kubelet_status_manager_hot_loop_pods 0',
        'kubelet_status_manager_last_successful_request_age_seconds 50',
        'kubelet_status_manager_informer_synced 2',
        'kubelet_status_manager_informer_last_event_age_seconds 50',
        'kubelet_status_manager_informer_restarts_total 5',
      ]);
    }
  });

  it('reads the gauges of a manager once in a scrape, because each reading looks through all pods', async () => {
    const register = new Registry();
    let reads = 0;
    createPrometheusMetrics({ register }).registerStatusGauges(() => {
      reads++;
      return gauges(1, 0, 0);
    });
    await register.metrics();
    await register.metrics();
    expect(reads).toBe(2);
  });

  it('adds up what two managers report to one registry', async () => {
    const register = new Registry();
    const [a, b] = [createPrometheusMetrics({ register }), createPrometheusMetrics({ register })];
    for (const adapter of [a, b]) {
      adapter.incRequests('get', 'ok', '2xx');
      adapter.setInProgressResizes(2);
    }
    a.setPendingResizes([{ reason: 'deferred', priorityBucket: 'normal', count: 1 }]);
    b.setPendingResizes([
      { reason: 'deferred', priorityBucket: 'normal', count: 2 },
      { reason: 'deferred', priorityBucket: 'high', count: 5 },
    ]);
    a.registerStatusGauges(() => gauges(10, 1, 30));
    b.registerStatusGauges(() => gauges(5, 2, 7));
    const ofManagers = /^kubelet_(status_manager|pod_(pending|in_progress)_resizes)(?!.*duration)/;
    expect((await scrape(register)).filter((line) => ofManagers.test(line))).toEqual([
      'kubelet_pod_pending_resizes{reason="deferred",priority_bucket="normal"} 3',
      'kubelet_pod_pending_resizes{reason="deferred",priority_bucket="high"} 5',
      'kubelet_pod_in_progress_resizes 4',
      'kubelet_status_manager_cached_statuses 15',
      'kubelet_status_manager_unsent_statuses 3',
      'kubelet_status_manager_oldest_unsent_age_seconds 30',
      'kubelet_status_manager_rejected_pods 0',
      'kubelet_status_manager_hot_loop_pods 0',
      'kubelet_status_manager_requests_total{verb="get",outcome="ok",code="2xx"} 2',
    ]);
  });

  it('does not show gauges that were unregistered, as by a stopped manager', async () => {
    const register = new Registry();
    const [a, b] = [createPrometheusMetrics({ register }), createPrometheusMetrics({ register })];
    const unregister = a.registerStatusGauges(() => gauges(10, 1, 30));
    b.registerStatusGauges(() => gauges(5, 2, 7));
    a.setInProgressResizes(3);
    b.setInProgressResizes(4);
    unregister();
    unregister();
    expect(await linesOf(register, 'kubelet_status_manager_')).toEqual([
      'kubelet_status_manager_cached_statuses 5',
      'kubelet_status_manager_unsent_statuses 2',
      'kubelet_status_manager_oldest_unsent_age_seconds 7',
      'kubelet_status_manager_rejected_pods 0',
      'kubelet_status_manager_hot_loop_pods 0',
    ]);
    expect(await linesOf(register, 'kubelet_pod_in_progress_resizes')).toEqual(['kubelet_pod_in_progress_resizes 4']);
  });

  it("shows the sum of the agents' gauges, and the maximum of versions and times, until an agent stops", async () => {
    const register = new Registry();
    const [a, b] = [createPrometheusMetrics({ register }), createPrometheusMetrics({ register })];
    const unregister = a.registerAgentGauges(() => ({}));
    for (const [adapter, pods] of [
      [a, 5],
      [a, 2],
      [b, 3],
    ] as const) {
      adapter.recordKubeletMetric('desired_pods', pods, 'true');
      adapter.recordKubeletMetric('cgroup_version', 2);
    }
    expect(await linesOf(register, 'kubelet_desired_pods')).toEqual(['kubelet_desired_pods{static="true"} 5']);
    expect(await linesOf(register, 'kubelet_cgroup_version')).toEqual(['kubelet_cgroup_version 2']);
    unregister();
    expect(await linesOf(register, 'kubelet_desired_pods')).toEqual(['kubelet_desired_pods{static="true"} 3']);
  });

  it('keeps two registries apart', async () => {
    const [a, b] = [new Registry(), new Registry()];
    createPrometheusMetrics({ register: a }).incRequests('get', 'ok', '2xx');
    createPrometheusMetrics({ register: b });
    expect(await linesOf(a, 'kubelet_status_manager_requests_total')).toHaveLength(1);
    expect(await linesOf(b, 'kubelet_status_manager_requests_total')).toHaveLength(0);
  });

  it.each([undefined, {}, { register: {} }, { register: null }])('refuses %j for a registry', (options) => {
    expect(() => createPrometheusMetrics(options as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: 'register' }),
    );
  });

  it('refuses a registry with another kind of metric under one of the names', () => {
    const register = new Registry();
    const name = 'kubelet_pod_in_progress_resizes';
    register.registerMetric(new Counter({ name, help: 'somebody else’s', registers: [] }));
    expect(() => createPrometheusMetrics({ register })).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path: 'register', message: expect.stringContaining(name) }),
    );
  });
});
