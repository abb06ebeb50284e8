import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { type ContainerRuntime, serveAgent } from 'kubelet-status-manager/agent';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { fault } from 'kubelet-status-manager/testing';
import type { PodRow, StatusDocument } from '../../../src/observe/statusz/status-document.ts';
import { TestCluster } from '../../agent/node-agent/test-cluster.ts';

/** The words of the page, which is plain JavaScript. */
interface Words {
  problemsOf(status: StatusDocument, nowMs: number): string[];
  waitText(pod: PodRow, nowMs: number): string;
}

const wordsModule = new URL('../../../src/observe/statusz/client/words.js', import.meta.url);
const { problemsOf, waitText } = (await import(wordsModule.href)) as Words;
const always = Number.POSITIVE_INFINITY;
const stepSeconds = 5;
const scrapeSeconds = 15;
const quietSeconds = 60;
/** `npm run` and vitest run at the root of the repository. */
const rules = resolve('examples/monitoring/alerts.yaml');

/** A fault that begins and ends while an operator watches. */
export interface NightFault {
  readonly name: string;
  readonly seconds: number;
  readonly begin: (night: Night) => void | Promise<void>;
  /** Called every 5 s in between. */
  readonly meanwhile?: (night: Night) => void;
  readonly end: (night: Night) => void;
  /** The agent starts while the fault lasts. */
  readonly isAtStart?: boolean;
}

/** When one place showed the fault first, what it said, and for how long after the end. In seconds. */
export interface Sign {
  readonly afterSeconds: number;
  readonly text: string;
  /** Undefined for the log, and if it still shows it five minutes later. */
  readonly clearSeconds: number | undefined;
}

export interface NightResult {
  readonly name: string;
  readonly log: Sign | undefined;
  readonly page: Sign | undefined;
  readonly alert: Sign | undefined;
}

/** Runtime calls that hang while `hanging` has their names. */
class HangingRuntime {
  readonly hanging = new Set<string>();
  readonly #waiting = new Set<() => void>();

  wrap(runtime: ContainerRuntime): ContainerRuntime {
    return new Proxy(runtime, {
      get: (target, name) => {
        const method: unknown = Reflect.get(target, name);
        // The runtime's events are subscribed to synchronously.
        if (typeof method !== 'function' || name === 'subscribe') return method;
        return async (...args: unknown[]) => {
          const { signal } = (args.at(-1) ?? {}) as { readonly signal?: AbortSignal };
          if (this.hanging.has(String(name))) await this.#hang(signal);
          return (method as (...args: unknown[]) => unknown).apply(target, args);
        };
      },
    });
  }

  release(): void {
    this.hanging.clear();
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #hang(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.add(resolve);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  }
}

/** A node with three pods, its agent, and what an operator reads of it. */
export class Night {
  readonly cluster: TestCluster;
  readonly runtime = new HangingRuntime();
  readonly register = new Registry();
  isJournalFull = false;
  #fullSince = '';

  constructor(cluster: TestCluster) {
    this.cluster = cluster;
  }

  async start(): Promise<void> {
    const { cluster } = this;
    for (const name of ['a', 'b', 'c']) await this.#create(name);
    await cluster.startAgent({
      runtime: this.runtime.wrap(cluster.runtime),
      metrics: createPrometheusMetrics({ register: this.register }),
      journal: {
        recovered: [],
        accepted: () => {},
        settled: () => {},
        close: () => Promise.resolve(),
        failure: () =>
          this.isJournalFull ? { failingSince: this.#fullSince, reason: 'no space left on device' } : undefined,
      },
    });
  }

  fillJournal(isFull: boolean): void {
    this.isJournalFull = isFull;
    this.#fullSince = new Date(this.cluster.clock.now()).toISOString();
  }

  /** The container of each pod ends, so that there is a status to write. */
  change(...names: readonly string[]): void {
    for (const name of names) {
      const uid = this.cluster.pod(name)!.metadata!.uid!;
      const container = this.cluster.runtime.container(uid, 'main');
      if (container?.state === 'running') this.cluster.runtime.exit(container.id, { exitCode: 1 });
    }
  }

  faults(...[match, what]: Parameters<TestCluster['server']['faults']['next']>): void {
    this.cluster.server.faults.next({ count: always, ...match }, what);
  }

  async #create(name: string): Promise<void> {
    const { pods } = this.cluster.server;
    pods.create({
      metadata: { name, namespace: 'default' },
      spec: { nodeName: 'node-a', terminationGracePeriodSeconds: 1, containers: [{ name: 'main', image: 'main:1' }] },
    });
    await Promise.resolve();
  }
}

const patchStatus = { resource: 'pods', subresource: 'status', verb: 'patch' } as const;
const endFaults = ({ cluster }: Night): void => cluster.server.faults.clear();

export const nightFaults: readonly NightFault[] = [
  {
    name: 'the runtime hangs',
    seconds: 240,
    begin: ({ runtime }) => void runtime.hanging.add('listPods'),
    end: ({ runtime }) => runtime.release(),
  },
  {
    name: 'the Lease is late',
    seconds: 120,
    begin: (night) => night.faults({ resource: 'leases' }, fault.status(500)),
    end: endFaults,
  },
  {
    name: 'a container does not stop',
    seconds: 240,
    begin: ({ runtime, cluster }) => {
      runtime.hanging.add('stopContainer');
      cluster.server.pods.delete('default', 'a');
    },
    end: ({ runtime }) => runtime.release(),
  },
  {
    name: '401 to every request',
    seconds: 180,
    begin: (night) => {
      night.faults({}, fault.status(401));
      night.change('a', 'b');
    },
    end: endFaults,
  },
  {
    name: '403 to every status',
    seconds: 240,
    begin: (night) => {
      night.faults(patchStatus, fault.status(403));
      night.change('a', 'b');
    },
    end: endFaults,
  },
  {
    name: '429 to every status',
    seconds: 300,
    begin: (night) => {
      night.faults(patchStatus, fault.status(429, { retryAfterMs: 5_000 }));
      night.change('a', 'b');
    },
    end: endFaults,
  },
  {
    name: '500 for one pod',
    seconds: 300,
    begin: (night) => {
      night.faults({ ...patchStatus, name: 'a' }, fault.status(500));
      night.change('a');
    },
    meanwhile: (night) => night.change('b'),
    end: endFaults,
  },
  {
    name: 'the API server is gone',
    seconds: 180,
    begin: (night) => {
      night.faults({}, fault.cut());
      night.cluster.server.faults.now({ verb: 'watch' }, fault.cut());
      night.change('a', 'b');
    },
    end: endFaults,
  },
  {
    name: 'another writer undoes a status',
    seconds: 240,
    begin: () => {},
    meanwhile: ({ cluster }) => void cluster.server.pods.patchStatus('default', 'a', { status: { phase: 'Pending' } }),
    end: () => {},
  },
  {
    name: 'the disk of the journal is full',
    seconds: 120,
    begin: (night) => night.fillJournal(true),
    end: (night) => night.fillJournal(false),
  },
  {
    name: 'the pods cannot be listed at the start',
    seconds: 240,
    isAtStart: true,
    begin: (night) => night.faults({ resource: 'pods', verb: 'list' }, fault.status(500)),
    end: endFaults,
  },
];

/** Causes one fault, and looks at the log, the page and the alerts as an operator does. */
export async function watchNight(night: NightFault): Promise<NightResult> {
  await using cluster = await TestCluster.start();
  const state = new Night(cluster);
  if (night.isAtStart === true) await night.begin(state);
  await state.start();
  const { agent, clock, logger } = cluster;
  const server = await serveAgent(agent, { port: 0, clock, logger });
  const scrapes: string[] = [];
  const pages: string[] = [];
  const pass = async (seconds: number, each: () => void = () => {}): Promise<void> => {
    for (let passed = 0; passed < seconds; passed += stepSeconds) {
      each();
      await cluster.advance(stepSeconds * 1000);
      pages.push(await readPage(server.url, clock.now()));
      if (pages.length % (scrapeSeconds / stepSeconds) === 0) scrapes.push(await state.register.metrics());
    }
  };
  try {
    if (night.isAtStart !== true) {
      await pass(quietSeconds);
      await night.begin(state);
    }
    const lines = logger.lines.length;
    const beganMs = clock.now();
    let logged: Sign | undefined;
    const readLog = (): void => {
      const line = logger.lines.slice(lines).find(({ level }) => level === 'warn' || level === 'error');
      if (line !== undefined)
        logged ??= { afterSeconds: (clock.now() - beganMs) / 1000, text: line.message, clearSeconds: undefined };
    };
    const began = pages.length;
    await pass(night.seconds, () => {
      readLog();
      night.meanwhile?.(state);
    });
    night.end(state);
    const ended = pages.length;
    await pass(300);
    return {
      name: night.name,
      log: logged,
      page: signOf(pages, began, ended, stepSeconds),
      alert: signOf(firingAlerts(scrapes), Math.floor(began / 3), Math.floor(ended / 3), scrapeSeconds),
    };
  } finally {
    await server.close();
    endFaults(state);
    state.runtime.release();
  }
}

/** Banners, and rows whose pod waits or has an error. */
async function readPage(url: string, nowMs: number): Promise<string> {
  const status = (await (await fetch(`${url}/statusz/pods.json`)).json()) as StatusDocument;
  const rows = status.pods
    .filter((pod) => pod.lastError !== undefined || waitText(pod, nowMs) !== '')
    .map((pod) => `${pod.podName}: ${[waitText(pod, nowMs), pod.lastError].filter(Boolean).join('; ')}`);
  return [...problemsOf(status, nowMs), ...rows][0] ?? '';
}

function signOf(seen: readonly string[], began: number, ended: number, seconds: number): Sign | undefined {
  const first = seen.findIndex((text, i) => i >= began && text !== '');
  if (first < 0) return undefined;
  const clear = seen.findIndex((text, i) => i >= ended && text === '');
  return {
    afterSeconds: (first - began + 1) * seconds,
    text: seen[first]!,
    clearSeconds: clear < 0 ? undefined : (clear - ended + 1) * seconds,
  };
}

/** Which alerts fire at each scrape, by promtool. */
function firingAlerts(scrapes: readonly string[]): string[] {
  const samples = scrapes.map(
    (text) => new Map([...text.matchAll(/^(kubelet_\w+(?:\{.*\})?) (\S+)$/gm)].map(([, k, v]) => [k!, v!])),
  );
  const series = new Set(samples.flatMap((one) => [...one.keys()]));
  const folder = mkdtempSync(join(tmpdir(), 'night-'));
  try {
    const file = join(folder, 'night.test.yaml');
    const expr = 'ALERTS{alertstate="firing"}';
    writeFileSync(
      file,
      stringify({
        rule_files: [rules],
        evaluation_interval: `${scrapeSeconds}s`,
        tests: [
          {
            interval: `${scrapeSeconds}s`,
            input_series: [...series].map((name) => ({
              series: name,
              values: samples.map((one, i) => one.get(name) ?? (samples[i - 1]?.has(name) ? 'stale' : '_')).join(' '),
            })),
            // Each alert that fires is reported as a difference.
            promql_expr_test: scrapes.map((_, i) => ({ expr, eval_time: `${i * scrapeSeconds}s`, exp_samples: [] })),
          },
        ],
      }),
    );
    const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8', maxBuffer: 1 << 26 });
    const firing = scrapes.map(() => '');
    for (const [, time, got] of `${stdout}${stderr}`.matchAll(
      /time: (\S+?),?\s+exp:\s*nil\s+got:\s*([^]*?)(?=expr:|$)/g,
    ))
      firing[secondsOf(time!) / scrapeSeconds] = [
        ...new Set([...got!.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name!)),
      ].join(', ');
    return firing;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Of `1h2m30s`. */
function secondsOf(duration: string): number {
  const [, h = 0, m = 0, s = 0] = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/.exec(duration) ?? [];
  return Number(h) * 3600 + Number(m) * 60 + Number(s);
}
