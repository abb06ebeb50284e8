import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Registry } from 'prom-client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import * as lists from '../../../src/status-manager/metrics.ts';
import { createPrometheusMetrics } from '../../../src/observe/prometheus.ts';
import { Node, outages } from '../outages/outages.ts';
import { promtoolTest } from './promtool-test.ts';

const root = new URL('../../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly annotations: { readonly runbook_url: string };
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  readonly templating: { readonly list: readonly { readonly query: unknown }[] };
}

const rules = (parse(read('examples/monitoring/alerts.yaml')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);
const dashboard = JSON.parse(read('examples/monitoring/dashboard.json')) as Dashboard;
const expressions = [
  ...rules.map(({ alert, expr }) => [alert, expr] as const),
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => ['dashboard', expr] as const)),
  ...dashboard.templating.list.map(({ query }) => ['dashboard', JSON.stringify(query)] as const),
];

async function seriesNames(): Promise<Set<string>> {
  const register = new Registry();
  createPrometheusMetrics({ register });
  const metrics = await register.getMetricsAsJSON();
  return new Set(
    metrics.flatMap(({ name, type }) =>
      String(type) === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    ),
  );
}

/** The text below the heading with this anchor, up to the next heading. */
function runbookOf({ annotations }: Rule): string | undefined {
  const [file, anchor] = annotations.runbook_url.split('#');
  const sections = read(file!).split(/^#+ /m);
  return sections.find((section) => slugOf(section.split('\n')[0]!) === anchor);
}

/** As GitHub makes anchors of headings. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(' ', '-');
}

/** The cells of the table in `text`, without the line between header and rows. */
function rowsOf(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|') && !/^\|[\s:|-]+\|$/.test(line));
  return lines.map((line) => line.split('|').slice(1, -1)).map((cells) => cells.map((cell) => cell.trim()));
}

function sourceText(): string {
  const files = readdirSync(new URL('src/', root), { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(`src/${file}`))
    .join('\n');
}

/** Without the line breaks of the source. */
function flat(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

describe('alerts and dashboard', () => {
  it.each(expressions)('%s reads metrics that exist: %s', async (_where, expr) => {
    const named = [...expr.matchAll(/\bkubelet_\w+/g)].map(([name]) => name);
    const names = await seriesNames();
    expect(named.filter((name) => !names.has(name))).toEqual([]);
  });

  it.each(expressions)('%s selects label values that exist: %s', (_where, expr) => {
    const known = new Set<string>(Object.values(lists).flatMap((list) => (Array.isArray(list) ? list : [])));
    const selected = [...expr.matchAll(/\b(?:reason|outcome|waiting_for|verb)[=!]~?"([^"$]+)"/g)];
    expect(selected.flatMap(([, values]) => values!.split('|')).filter((value) => !known.has(value))).toEqual([]);
  });

  it.each(rules)('$alert has a runbook with a row that names it, what to check and what to do', (rule) => {
    const [header, ...rows] = rowsOf(runbookOf(rule)!);
    expect(header).toEqual(['Log or symptom', 'Check', 'Do']);
    const row = rows.find(([symptom]) => symptom!.includes(`Alert \`${rule.alert}\``));
    expect(row).toEqual([expect.stringMatching(/./), expect.stringMatching(/./), expect.stringMatching(/./)]);
  });

  it('every log message in a runbook exists in the code', () => {
    const messages = [...read('docs/troubleshooting.md').matchAll(/`([A-Z][a-z]+(?: \w+){2,}[^`]*)`/g)];
    const source = sourceText();
    const unknown = messages
      .map(([, message]) => message!)
      .filter(
        (message) =>
          !source.includes(message) && !source.includes(`what: '${message.replace(/ (failed|succeeded again)$/, '')}'`),
      );
    expect(messages.length).toBeGreaterThan(10);
    expect(unknown).toEqual([]);
  });

  it('every runbook belongs to an alert', () => {
    const named = [...read('docs/troubleshooting.md').matchAll(/Alert `(\w+)`/g)].map(([, name]) => name!);
    expect(named.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
  });

  it('every alert has a case that fires in alerts.test.yaml', () => {
    const cases = read('test/observe/monitoring/alerts.test.yaml');
    expect(rules.map(({ alert }) => alert).filter((alert) => !cases.includes(`alertname="${alert}"`))).toEqual([]);
  });
});

/** The alert for each outage of test/observe/outages by name, and those that fire with it. */
const alertsOf: Readonly<Record<string, readonly [string, ...string[]]>> = {
  'the API server is down': ['PodStatusAPIUnreachable'],
  'the credentials have expired (401)': ['PodStatusCredentialsRefused'],
  'the API server hangs': ['PodStatusAPIUnreachable'],
  '403 to GET': ['PodStatusForbidden'],
  '403 to PATCH': ['PodStatusForbidden'],
  'a refused DELETE': ['PodDeletionRefused'],
  'a pod stuck Terminating by podCouldHaveRunningContainers': ['PodDeletionWaitsForContainers'],
  'a pod stuck Terminating by a finalizer': ['PodDeletionWaitsForFinalizers'],
  'a hot loop by another writer': ['PodStatusHotLoop'],
  'a throttled client (429)': ['PodStatusThrottled'],
  'a slow API server, with requests that wait for a connection': ['PodStatusRequestsWait'],
  'a drain that gives up': ['PodStatusUnsentAtStop'],
  'an informer that is not synced': ['PodInformerNotSynced'],
};

function promtool(...args: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}
const hasPromtool = promtool('--version').status === 0;
const pathOf = (path: string): string => fileURLToPath(new URL(path, root));

describe.skipIf(!hasPromtool)('promtool (skipped without the package prometheus)', () => {
  it('reads the rules', () => {
    expect(promtool('check', 'rules', pathOf('examples/monitoring/alerts.yaml'))).toMatchObject({ status: 0 });
  });

  it('each alert fires in its case, and no other alert does', () => {
    const { status, output } = promtool('test', 'rules', pathOf('test/observe/monitoring/alerts.test.yaml'));
    expect(output).toContain('SUCCESS');
    expect(status).toBe(0);
  });
});

describe('from an outage to the alert to the runbook', () => {
  it('every outage has an alert', () => {
    expect(Object.keys(alertsOf)).toEqual(outages.map(({ name }) => name));
  });

  it.each(outages)('$name: the runbook has the line of the log', ({ name, log }) => {
    const rule = rules.find(({ alert }) => alert === alertsOf[name]![0])!;
    expect(flat(runbookOf(rule)!)).toContain(log.message);
  });

  it.skipIf(!hasPromtool).each(outages)('$name: what is scraped makes the alert fire', async ({ name, cause }) => {
    const node = new Node();
    await cause(node);
    const scrape = await node.register.metrics();
    await node.manager.stop();
    const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'outage.test.yaml');
    writeFileSync(file, promtoolTest(pathOf('examples/monitoring/alerts.yaml'), scrape, alertsOf[name]!));
    expect(promtool('test', 'rules', file).output).toContain('SUCCESS');
  });
});
