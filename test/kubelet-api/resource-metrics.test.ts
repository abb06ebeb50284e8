import { expect, it } from 'vitest';
import { resourceMetrics } from '../../src/kubelet-api/resource-metrics.ts';
import type { Summary } from '../../src/kubelet-api/stats-summary.ts';

const time = '2026-01-02T03:04:05Z';
const stamp = Date.parse(time);
const node = { nodeName: 'node-a', startTime: time, systemContainers: [] };

const samplesOf = (summary: Summary | undefined): string[] => resourceMetrics(summary).match(/^[a-z].*$/gm) ?? [];

it('has the usage of the node, with the time of each sample', () => {
  const usage = {
    cpu: { time, usageCoreNanoSeconds: 2.5e9 },
    memory: { time, workingSetBytes: 7 },
    swap: { time, swapUsageBytes: 3 },
  };
  expect(samplesOf({ node: { ...node, ...usage }, pods: [] })).toEqual([
    `node_cpu_usage_seconds_total 2.5 ${stamp}`,
    `node_memory_working_set_bytes 7 ${stamp}`,
    `node_swap_usage_bytes 3 ${stamp}`,
    'resource_scrape_error 0',
    'scrape_error 0',
  ]);
});

it('has a sample for a usage of 0, and none for one that is not known', () => {
  const cpu = { time, usageCoreNanoSeconds: 0 };
  expect(samplesOf({ node: { ...node, cpu, memory: { time } }, pods: [] })).toEqual([
    `node_cpu_usage_seconds_total 0 ${stamp}`,
    'resource_scrape_error 0',
    'scrape_error 0',
  ]);
});

it('groups the samples of each metric, under its type', () => {
  const pod = (name: string): Summary['pods'][number] => ({
    podRef: { name, namespace: 'default', uid: name },
    startTime: time,
    containers: [],
    cpu: { time, usageCoreNanoSeconds: 1e9 },
    memory: { time, workingSetBytes: 1 },
    swap: { time, swapUsageBytes: 0 },
  });
  const lines = resourceMetrics({ node, pods: [pod('a'), pod('b')] }).split('\n');
  expect(lines.filter((line) => !line.startsWith('# HELP') && !line.includes('scrape'))).toEqual([
    '# TYPE pod_cpu_usage_seconds_total counter',
    `pod_cpu_usage_seconds_total{namespace="default",pod="a"} 1 ${stamp}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="b"} 1 ${stamp}`,
    '# TYPE pod_memory_working_set_bytes gauge',
    `pod_memory_working_set_bytes{namespace="default",pod="a"} 1 ${stamp}`,
    `pod_memory_working_set_bytes{namespace="default",pod="b"} 1 ${stamp}`,
    '# TYPE pod_swap_usage_bytes gauge',
    `pod_swap_usage_bytes{namespace="default",pod="a"} 0 ${stamp}`,
    `pod_swap_usage_bytes{namespace="default",pod="b"} 0 ${stamp}`,
    '',
  ]);
});

it('says that the statistics could not be read', () => {
  expect(samplesOf(undefined)).toEqual(['resource_scrape_error 1', 'scrape_error 1']);
});
