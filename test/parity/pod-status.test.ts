import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import type { PodStatusRow } from './pod-status-row.ts';
import { replayPodStatusRow } from './replay-pod-status.ts';
import { readRecords } from './trace.ts';

/** The rows of every eighth of the 300 pods that were recorded from the kubelet. */
const rowsFile = fileURLToPath(new URL('testdata/pod-status.jsonl.gz', import.meta.url));

let rows: PodStatusRow[];
beforeAll(async () => {
  rows = [];
  for await (const row of readRecords<PodStatusRow>(rowsFile)) rows.push(row);
});

describe('pod status rows', () => {
  it('status and actions of 304 rows are the same as the kubelet’s', () => {
    expect(rows).toHaveLength(304);
    expect(rows.flatMap(replayPodStatusRow)).toEqual([]);
  });
});

describe('the harness notices', () => {
  it.each<[string, string, (row: PodStatusRow) => PodStatusRow]>([
    ['another phase', 'status.phase', (row) => ({ ...row, status: { ...row.status, phase: 'Unknown' } })],
    ['another attempt', 'actions.attempt', (row) => ({ ...row, actions: { ...row.actions, attempt: 99 } })],
    [
      'another container to start',
      'actions.containersToStart.0',
      (row) => ({ ...row, actions: { ...row.actions, containersToStart: ['x'] } }),
    ],
    [
      'another RestartAllContainers',
      'restartAllContainers',
      (row) => ({ ...row, restartAllContainers: !row.restartAllContainers }),
    ],
    ['a status that cannot be generated', 'thrown', (row) => ({ ...row, nodeIPs: 'none' as unknown as string[] })],
  ])('%s', (_, path, change) => {
    expect(replayPodStatusRow(change(rows[0]!)).map((divergence) => divergence.path)).toContain(path);
  });
});
