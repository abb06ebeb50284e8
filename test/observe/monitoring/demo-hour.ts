import { Registry } from 'prom-client';
import { type Pod, StatusManager } from '../../../src/status-manager/index.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { createPrometheusMetrics } from '../../../src/observe/prometheus.ts';
import { FakeClock, FakePodClient, fault, silentLogger, SyncedPodManager } from '../../../src/testing/index.ts';

const scrapeMs = 15_000;
const minute = 60_000;
const pods = 100;
const always = Number.POSITIVE_INFINITY;

/** When the demo begins, in Unix seconds. */
export const demoStartSeconds = Date.parse('2026-01-02T12:00:00Z') / 1_000;
export const demoSeconds = 3_600;

/**
 * An hour of a node with 100 pods on the fake clock, as Prometheus scrapes it: an outage of the API
 * server (minutes 15 to 20), another writer that undoes a status (25 to 40), throttling (45 to 50), and
 * a pod that a finalizer keeps (from minute 30).
 * @returns the samples in the OpenMetrics format, with timestamps
 */
export async function demoHour(): Promise<string> {
  const clock = new FakeClock(new Date(demoStartSeconds * 1_000).toISOString());
  const podList = Array.from({ length: pods }, (_, i) => podOf(`pod-${i}`));
  const client = new FakePodClient(podList, { clock });
  const podManager = new SyncedPodManager(client);
  const register = new Registry();
  const manager = new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
    metrics: createPrometheusMetrics({ register }),
  });
  client.faults.next({ count: always }, fault.delay(20));
  client.react({}, () => failureAt(clock.now() / 1_000 - demoStartSeconds), always);
  client.react(
    { verb: 'patch', name: 'pod-1' },
    () => () => {
      const seconds = clock.now() / 1_000 - demoStartSeconds;
      const pod = client.pod('default', 'pod-1')!;
      if (seconds > 25 * 60 && seconds < 40 * 60) client.put({ ...pod, status: { ...pod.status, message: 'undone' } });
    },
    always,
  );
  manager.start();

  const lines: string[] = [];
  for (let atMs = 0; atMs < demoSeconds * 1_000; atMs += scrapeMs) {
    for (let i = 0; i < 5; i++) {
      const n = (atMs / scrapeMs) * 5 + i;
      manager.setPodStatus(podList[n % pods]!, { phase: 'Running', message: `change ${n}` });
      await clock.advanceAsync(scrapeMs / 5);
    }
    if (atMs === 30 * minute) {
      const deleted = podOf('kept', {
        deletionTimestamp: new Date(clock.now()).toISOString(),
        finalizers: ['example.com/backup'],
      });
      client.put(deleted);
      manager.terminatePod(deleted);
    }
    lines.push(...samplesOf(await register.metrics(), clock.now() / 1_000));
  }
  await manager.stop();
  return `${lines.join('\n')}\n# EOF\n`;
}

function podOf(name: string, metadata: Pod['metadata'] = {}): Pod {
  return {
    metadata: { namespace: 'default', name, uid: `uid-${name}`, ...metadata },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
  };
}

/** Throws what the API server responds at this time. */
function failureAt(seconds: number): void {
  if (seconds > 15 * 60 && seconds < 20 * 60) throw new APIError('ECONNREFUSED', { kind: 'network' });
  if (seconds > 45 * 60 && seconds < 50 * 60 && Math.floor(seconds) % 2 === 0)
    throw new APIError('429 TooManyRequests', { kind: 'http', statusCode: 429, retryAfterMs: 5_000 });
}

/** With the labels and the time that Prometheus would add. */
function samplesOf(scrape: string, seconds: number): string[] {
  return [...scrape.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)].map(
    ([, name, labels, value]) =>
      `${name}{${labels === undefined ? '' : `${labels},`}instance="node-a"} ${value} ${seconds}`,
  );
}
