import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Registry } from 'prom-client';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { fault } from 'kubelet-status-manager/testing';
import type { NodeStatus } from 'kubelet-status-manager/agent';
import { ProviderError, serveVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { lockDirectory } from '../../../src/shared/directory-lock.ts';
import { type Disk, systemDisk } from '../../../src/shared/disk.ts';
import { openFileJournal } from '../../../src/status-manager/journal/file-journal.ts';
import type { StatusDocument } from '../../../src/observe/statusz/status-document.ts';
import { podOf, TestNodes } from '../../virtual-nodes/test-nodes.ts';

/** The words of the page, which is plain JavaScript. */
const wordsModule = new URL('../../../src/observe/statusz/client/words.js', import.meta.url);
const { problemsOf } = (await import(wordsModule.href)) as {
  problemsOf(status: StatusDocument, nowMs: number): string[];
};
const always = Number.POSITIVE_INFINITY;
const faultSeconds = 240;

/** What an operator of virtual nodes tries: a fault of four minutes, with a pod that changes and one that is created. */
export interface DrillFault {
  readonly name: string;
  /** The alerts that fire if it lasts, besides PodStatusLate. */
  readonly alerts: readonly string[];
  /** True if the process shares its nodes with other replicas. */
  readonly hasReplicas?: boolean;
  readonly begin: (drill: Drill) => void;
}

/** What each place says of a fault; empty if it says nothing. */
export interface DrillResult {
  readonly log: string;
  readonly readyz: string;
  readonly page: string;
  readonly metrics: string;
  readonly explain: string;
  readonly describe: string;
  /** The condition Ready of the Node, and when it and the Lease were last renewed. */
  readonly describeNode: string;
  /** All metrics. */
  readonly scrape: string;
}

interface Drill {
  readonly test: TestNodes;
  /** Of the journal. */
  fillDisk(): void;
}

function cutOff({ test }: Drill, code: string): void {
  test.server.cutCode = code;
  test.server.faults.next({ count: always }, fault.cut());
  test.server.faults.now({ verb: 'watch' }, fault.cut());
}

/** Also ends the watches, which a real API server does after minutes. */
function refuse({ test }: Drill, code: number): void {
  test.server.faults.next({ count: always }, fault.status(code, code === 429 ? { retryAfterMs: 5000 } : {}));
  test.server.faults.now({ verb: 'watch' }, fault.cut());
}

function failCloud({ test }: Drill, error: () => Error): void {
  for (const call of ['createPod', 'deletePod', 'listPods', 'updatePod'] as const) test.cloud.react(call, error);
}

export const drillFaults: readonly DrillFault[] = [
  {
    name: 'API server gone',
    alerts: ['PodStatusAPIUnreachable', 'NodeAgentLeaseLate'],
    begin: (drill) => cutOff(drill, 'ECONNREFUSED'),
  },
  {
    name: '403 to every request',
    alerts: ['PodStatusForbidden', 'NodeAgentLeaseLate'],
    begin: (drill) => refuse(drill, 403),
  },
  {
    name: 'wrong CA',
    alerts: ['PodStatusAPIUnreachable', 'NodeAgentLeaseLate'],
    begin: (drill) => cutOff(drill, 'SELF_SIGNED_CERT_IN_CHAIN'),
  },
  {
    name: '429 of the API server',
    alerts: ['PodStatusThrottled', 'NodeAgentLeaseLate'],
    begin: (drill) => refuse(drill, 429),
  },
  {
    name: 'cloud gone',
    alerts: ['VirtualNodesListFails', 'VirtualNodesCallsFail'],
    begin: (drill) => failCloud(drill, () => new Error('connect ECONNREFUSED 203.0.113.7:443')),
  },
  {
    name: '429 of the cloud',
    alerts: ['VirtualNodesListFails', 'VirtualNodesCallsFail'],
    begin: (drill) =>
      failCloud(drill, () => new ProviderError('429 Too Many Requests', { retryAfterMs: 30_000, reason: 'Throttled' })),
  },
  {
    name: 'slow cloud',
    alerts: ['VirtualNodesListFails', 'VirtualNodesCallsFail', 'VirtualNodesCallsQueued'],
    begin: ({ test }) => (test.cloud.latencyMs = 600_000),
  },
  {
    name: 'wrong answers',
    alerts: ['VirtualNodesListInvalid'],
    begin: ({ test }) =>
      test.cloud.add({ uid: 'x', name: 'x', namespace: 'default', nodeName: 'node-a', state: 'lost' as 'running' }),
  },
  {
    name: 'pods accepted and never listed',
    alerts: ['VirtualNodesListInvalid'],
    begin: ({ test }) => test.cloud.hidden.add('new-a'),
  },
  {
    name: 'pods lost',
    alerts: ['VirtualNodesPodsLost'],
    begin: ({ test }) => test.cloud.lose('web'),
  },
  {
    name: 'clock set back',
    alerts: [],
    begin: ({ test }) => test.clock.setWallTime(test.clock.now() - 3_600_000),
  },
  {
    name: 'a Node is refused',
    alerts: ['VirtualNodesNotRegistered'],
    begin: ({ test }) => {
      test.server.faults.next({ resource: 'nodes', verb: 'create', count: always }, fault.status(403));
      test.nodes.add(test.node('node-b'));
    },
  },
  {
    name: 'a replica is cut off from Leases',
    alerts: ['VirtualNodesReplicaCutOff'],
    hasReplicas: true,
    begin: ({ test }) => test.server.faults.next({ resource: 'leases', count: always }, fault.status(403)),
  },
  {
    name: 'disk full',
    alerts: ['PodStatusJournalFails'],
    begin: (drill) => drill.fillDisk(),
  },
];

/** Causes one fault on a node with a running pod, and reads each place while it lasts. */
export async function drill({ begin, hasReplicas = false }: DrillFault): Promise<DrillResult> {
  await using test = await TestNodes.start();
  const register = new Registry();
  let isDiskFull = false;
  const folder = mkdtempSync(join(tmpdir(), 'drill-'));
  await using _ = { [Symbol.asyncDispose]: async () => rmSync(folder, { recursive: true }) };
  const options = {
    ...{ metrics: createPrometheusMetrics({ register }), concurrency: 1, callTimeoutMs: 60_000 },
    ...(hasReplicas && { replicas: { identity: 'a', namespace: 'default' } }),
  };
  const { clock, logger, cloud } = test;
  // With `fsync`, it would wait for this machine's disk.
  const journal = hasReplicas
    ? undefined
    : await openFileJournal(
        folder,
        { fsync: 'never', logger, clock },
        { disk: limitedDisk(() => isDiskFull), lockDirectory },
      );
  const nodes = await test.startNodes([{ ...test.node('node-a'), journal }], options);
  // Until a replica owns the node.
  if (hasReplicas) await test.advance(20_000);
  const uid = await test.create(podOf());
  await test.advance(7000);
  await test.create(podOf('other'));
  await test.advance(60_000);
  const server = await serveVirtualNodes(nodes, { port: 0, register, clock, logger });
  try {
    const [lines, before, events] = [logger.lines.length, await register.metrics(), test.podEvents().length];
    begin({ test, fillDisk: () => (isDiskFull = true) });
    for (const name of ['new-a', 'new-b', 'new-c', 'new-d', 'new-e', 'new-f']) await test.create(podOf(name));
    // There is always a status to write.
    for (let passed = 0; passed < faultSeconds; passed += 15) {
      if (cloud.pod('other') !== undefined)
        cloud.report('other', { containers: [{ name: 'app', restartCount: passed }] });
      await test.advance(15_000);
    }
    const get = async (path: string): Promise<string> => (await fetch(`${server.url}${path}`)).text();
    const page = JSON.parse(await get('/statusz/pods.json')) as StatusDocument;
    const shown =
      page.pods.find(({ lastError }) => lastError !== undefined) ??
      page.pods.find(({ unsentSince }) => unsentSince !== undefined) ??
      page.pods.find(({ phase }) => phase === 'Pending');
    const scrape = await register.metrics();
    const warning = logger.lines.slice(lines).find(({ level }) => level === 'warn' || level === 'error');
    const reason = (warning?.fields as { readonly reason?: string } | undefined)?.reason;
    const readyz = (await get('/readyz')).split('\n').filter((line) => line.startsWith('[-]'));
    return {
      log: warning === undefined ? '' : [warning.message, reason].filter(Boolean).join(': '),
      readyz: readyz.join('; '),
      page: problemsOf(page, clock.now()).join(' '),
      metrics: changedGauges(before, scrape),
      explain: String(nodes.node('node-a')?.statusManager.explain(shown?.podUID ?? uid) ?? ''),
      describe: [...new Set(test.podEvents().slice(events))].join('; ') || (test.status('web')?.reason ?? ''),
      describeNode: describeNode(test),
      scrape,
    };
  } finally {
    await server.close();
    test.server.faults.clear();
    cloud.latencyMs = 0;
  }
}

/** The disk of this machine. While it is full, nothing can be written, as on file systems with copy-on-write. */
function limitedDisk(isFull: () => boolean): Disk {
  return {
    ...systemDisk,
    open(...args) {
      const file = systemDisk.open(...args);
      const write = file.write.bind(file);
      file.write = (offset, bytes) => {
        if (isFull()) throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
        write(offset, bytes);
      };
      return file;
    },
  };
}

function describeNode({ server, nodes }: TestNodes): string {
  const { conditions = [] } = (server.nodes.get('node-a')?.status ?? {}) as NodeStatus;
  const ready = conditions.find(({ type }) => type === 'Ready');
  const lease = nodes.node('node-a')?.inspect().node.leaseRenewedAt ?? 'not renewed by this process';
  const { status, reason, lastHeartbeatTime } = ready ?? {};
  return `Ready ${status} ${reason}, LastHeartbeatTime ${lastHeartbeatTime}; Lease RenewTime ${lease}`;
}

/** Those that tell that something is wrong, if they have changed. */
const tellingGauges =
  /^kubelet_(?:node_agent_(?:failing_pods|lost_pods_total|provider_(?:invalid_list|longest_queued_seconds|list_failing_seconds|unlisted_seconds)|replica_member|lease_age_seconds)|status_manager_(?:journal_failing|outage_age_seconds|oldest_unsent_age_seconds))(?:\{.*\})? /;

function changedGauges(before: string, after: string): string {
  const known = new Set(before.split('\n'));
  return after
    .split('\n')
    .filter(
      (line) =>
        tellingGauges.test(line) &&
        !known.has(line) &&
        !/lease_age_seconds [0-9](\.|$)|lease_age_seconds 1\d/.test(line),
    )
    .map((line) => line.replace(/^kubelet_/, '').replace(/\d+\.\d+$/, (value) => String(Math.round(Number(value)))))
    .join('; ');
}

/** As a document, and as the table of the guide: `npm run outages -- virtual-nodes --write` makes both. */
export async function drillDocument(): Promise<{ readonly document: string; readonly summary: string }> {
  const sections = [];
  const summary = [];
  for (const each of drillFaults) {
    const { log, readyz, page, metrics, explain, describe, describeNode } = await drill(each);
    const name = `${each.name[0]!.toUpperCase()}${each.name.slice(1)}`;
    const rows = { log, '/readyz': readyz, page, metrics, 'explain()': explain };
    const described = { 'kubectl describe pod': describe, 'kubectl describe node': describeNode };
    const alert = each.alerts.map((alertName) => `\`${alertName}\``).join(', ');
    const lines = Object.entries({ ...rows, ...described, alert }).map(([place, text]) => `- ${place}: ${cell(text)}`);
    sections.push(`## ${name}\n\n${lines.join('\n')}`);
    const failing = [...readyz.matchAll(/\[-\](\w+)/g)].map(([, check]) => `\`${check}\``).join(', ');
    summary.push(`| ${name} | ${failing} | ${alert} |`);
  }
  return {
    document: `# Drill of virtual nodes\n\nWhat each place says of a fault that lasts four minutes, on a node with running and new pods. Made by\n\`npm run outages -- virtual-nodes --write\`; a test compares it.\n\n${sections.join('\n\n')}\n`,
    summary: `| Fault | \`/readyz\` | Alerts |\n| --- | --- | --- |\n${summary.join('\n')}\n`,
  };
}

function cell(text: string): string {
  if (text === '') return 'nothing';
  const withoutUIDs = text.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'UID');
  const short = withoutUIDs.length > 400 ? `${withoutUIDs.slice(0, 400)}…` : withoutUIDs;
  return short.startsWith('`') ? short : `\`${short.replaceAll('`', "'")}\``;
}

export const drillGuide = 'docs/guides/virtual-nodes.md';

/** Replaces the table of the faults in the guide. */
export function withDrillTable(guide: string, table: string): string {
  return guide.replace(/^\| Fault [^]*?\n\n/m, `${table}\n`);
}
