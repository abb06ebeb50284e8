import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { renderTable } from '../../../examples/node-agent/table.ts';

const row = { phase: 'Running', ready: '1/1', restarts: '0', reason: '', versions: '2/1', unsent: '0.3s' };
const rows = [
  { ...row, pod: 'default/a' },
  { ...row, pod: 'default/longer', phase: 'Deleted', reason: 'gone' },
];

describe('renderTable', () => {
  it('aligns its columns', () => {
    expect(renderTable(rows, 100, false)).toEqual([
      'POD             PHASE    READY  RESTARTS  CACHED/SENT  UNSENT  REASON',
      'default/a       Running  1/1    0         2/1          0.3s',
      'default/longer  Deleted  1/1    0         2/1          0.3s    gone',
    ]);
  });

  it('is never wider than the terminal, colours not counted', () => {
    for (const line of renderTable(rows, 20, true)) {
      expect(stripVTControlCharacters(line).length).toBeLessThanOrEqual(20);
    }
  });
});
