import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { promtoolTest } from '../monitoring/promtool-test.ts';
import { drill, drillDocument, drillFaults, drillGuide, withDrillTable } from './virtual-nodes-drill.ts';

/** What is renewed all the time has no age that grows; nor has an informer, which gets bookmarks of a real API server. */
const isLate = (series: string, value: number): boolean => value > 40 && !series.includes('informer_last_event');
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

it('the document of the drill, and the table of the guide, are what the drill shows', async () => {
  const { document, summary } = await drillDocument();
  const guide = readFileSync(drillGuide, 'utf8');
  const cells = (text: string): string => text.replaceAll(/ +/g, ' ').replaceAll(/-+/g, '---');
  expect(document).toBe(readFileSync('docs/internals/virtual-nodes-drill.md', 'utf8'));
  expect(cells(withDrillTable(guide, summary))).toBe(cells(guide));
});

it('every alert of virtual nodes has a fault that makes it fire', () => {
  const alerts = readFileSync('examples/monitoring/alerts.yaml', 'utf8').matchAll(/alert: (VirtualNodes\w+)/g);
  const fired = new Set(drillFaults.flatMap((fault) => fault.alerts));
  expect([...alerts].map(([, alert]) => alert!).filter((alert) => !fired.has(alert))).toEqual([]);
});

describe.skipIf(!hasPromtool)(
  'each fault of virtual nodes has its alerts (skipped without the package prometheus)',
  () => {
    it.each(drillFaults)('$name: $alerts', async (fault) => {
      const { scrape } = await drill(fault);
      const folder = mkdtempSync(join(tmpdir(), 'drill-'));
      onTestFinished(() => rmSync(folder, { recursive: true }));
      const file = join(folder, 'drill.test.yaml');
      writeFileSync(file, promtoolTest(resolve('examples/monitoring/alerts.yaml'), scrape, fault.alerts, isLate));
      const { stdout, stderr } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
      expect(`${stdout}${stderr}`).toContain('SUCCESS');
    });
  },
);
