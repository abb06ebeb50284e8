import { platform } from 'node:os';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

it('an agent measures its runtime, its pods and their starts, and counts what runs, as the kubelet does', async () => {
  const register = new Registry();
  const nodeStatus = () => ({ capacity: { cpu: '1', memory: '1Gi', pods: '10' } });
  await cluster.startAgent({ metrics: createPrometheusMetrics({ register }), node: { nodeStatus } });
  await cluster.advance(2_000);
  cluster.runtime.fail({ method: 'startContainer' }, 'no connection');
  await cluster.create({ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } });
  const resources = { requests: { cpu: '2' } };
  await cluster.create({
    metadata: { name: 'big' },
    spec: { containers: [{ name: 'app', image: 'app:1', resources }] },
  });
  await cluster.advance(30_000);
  const lines = (await register.metrics()).split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      'kubelet_runtime_operations_total{operation_type="run_podsandbox"} 1',
      'kubelet_runtime_operations_total{operation_type="start_container"} 2',
      'kubelet_runtime_operations_errors_total{operation_type="start_container"} 1',
      'kubelet_runtime_operations_duration_seconds_count{operation_type="start_container"} 2',
      expect.stringMatching(/^kubelet_runtime_operations_total\{operation_type="list_podsandbox"\} [1-9]/),
      expect.stringMatching(/^kubelet_runtime_operations_total\{operation_type="image_status"\} [1-9]/),
      'kubelet_admission_rejections_total{reason="OutOfcpu"} 1',
      'kubelet_running_pods 1',
      'kubelet_running_containers{container_state="running"} 1',
      'kubelet_pod_worker_duration_seconds_count{operation_type="create"} 1',
      'kubelet_pod_worker_start_duration_seconds_count 1',
      // Of its first status, and when it runs.
      'kubelet_pod_start_duration_seconds_count 2',
      'kubelet_pod_start_duration_seconds_sum 0.5',
      expect.stringMatching(/^kubelet_containers_per_pod_count_count [1-9]/),
      'kubelet_started_pods_total 1',
      'kubelet_started_containers_total{container_type="container"} 2',
      'kubelet_started_containers_errors_total{container_type="container",code="RunContainerError"} 1',
      'kubelet_image_pull_duration_seconds_count{image_size_in_bytes="N/A"} 1',
      'kubelet_desired_pods{static=""} 2',
      'kubelet_active_pods{static=""} 1',
      'kubelet_working_pods{lifecycle="sync",config="desired",static=""} 1',
      expect.stringMatching(/^kubelet_pleg_relist_interval_seconds_count [1-9]/),
      expect.stringMatching(/^kubelet_pleg_pod_relist_duration_seconds_count [1-9]/),
      `kubelet_pleg_last_seen_seconds ${Math.trunc(cluster.clock.now() / 1000)}`,
      ...(platform() === 'linux' ? [expect.stringMatching(/^kubelet_cgroup_version [12]$/)] : []),
      expect.stringMatching(/^kubelet_pleg_relist_duration_seconds_count [1-9]/),
    ]),
  );
});
