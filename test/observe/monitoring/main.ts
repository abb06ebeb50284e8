import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { demoHour, demoSeconds, demoStartSeconds } from './demo-hour.ts';
import { dashboardSvg, type Panel, type Series } from './time-series-svg.ts';

/*
 * `npm run dashboard-picture`: fills a Prometheus with the demo's hour, evaluates the expressions of
 * examples/monitoring/dashboard.json, and draws docs/images/dashboard.svg. Needs `prometheus` and `promtool`.
 */

const stepSeconds = 15;
const root = fileURLToPath(new URL('../../../../', import.meta.url));

interface Dashboard {
  readonly title: string;
  readonly panels: readonly {
    readonly title: string;
    readonly fieldConfig: { readonly defaults: { readonly unit: string } };
    readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[];
  }[];
}

interface RangeResponse {
  readonly data: {
    readonly result: readonly {
      readonly metric: Readonly<Record<string, string>>;
      readonly values: readonly (readonly [number, string])[];
    }[];
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  return port;
}

async function query(address: string, expr: string, legend: string): Promise<Series[]> {
  const url = new URL('/api/v1/query_range', address);
  url.search = new URLSearchParams({
    query: expr.replaceAll('$instance', '.*').replaceAll('$__rate_interval', '1m'),
    start: String(demoStartSeconds + 60),
    end: String(demoStartSeconds + demoSeconds),
    step: String(stepSeconds),
  }).toString();
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${expr}: ${await response.text()}`);
  const { data } = (await response.json()) as RangeResponse;
  return data.result.map(({ metric, values }) => ({
    name: legend.replaceAll(/\{\{(\w+)\}\}/g, (_, name: string) => metric[name] ?? ''),
    points: values.filter(([, value]) => value !== 'NaN').map(([seconds, value]) => [seconds, Number(value)] as const),
  }));
}

async function untilReady(address: string): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    const isReady = await fetch(new URL('/-/ready', address)).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) return;
    await sleep(100);
  }
  throw new Error('Prometheus did not become ready');
}

const work = mkdtempSync(join(tmpdir(), 'dashboard-'));
try {
  writeFileSync(join(work, 'samples.txt'), await demoHour());
  writeFileSync(join(work, 'prometheus.yml'), '');
  const data = join(work, 'data');
  execFileSync('promtool', ['tsdb', 'create-blocks-from', 'openmetrics', join(work, 'samples.txt'), data]);
  const address = `http://127.0.0.1:${await freePort()}`;
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${join(work, 'prometheus.yml')}`,
      `--storage.tsdb.path=${data}`,
      '--storage.tsdb.retention.time=100y',
      // The imported samples have no marks for series that end.
      '--query.lookback-delta=20s',
      `--web.listen-address=${address.slice('http://'.length)}`,
    ],
    { stdio: 'ignore' },
  );
  try {
    await untilReady(address);
    const { title, panels } = JSON.parse(
      readFileSync(join(root, 'examples/monitoring/dashboard.json'), 'utf8'),
    ) as Dashboard;
    const filled: Panel[] = [];
    for (const { title: name, targets, fieldConfig } of panels) {
      const series = await Promise.all(targets.map(({ expr, legendFormat }) => query(address, expr, legendFormat)));
      filled.push({ title: name, unit: fieldConfig.defaults.unit, series: series.flat() });
    }
    const svg = dashboardSvg(title, filled, demoStartSeconds, demoStartSeconds + demoSeconds, stepSeconds);
    writeFileSync(join(root, 'docs/images/dashboard.svg'), svg);
    for (const { title: name, series } of filled) console.log(`${String(series.length).padStart(3)} series  ${name}`);
  } finally {
    prometheus.kill();
    await once(prometheus, 'exit');
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
