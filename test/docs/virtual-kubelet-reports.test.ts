import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/repository.ts';
import { documentPath } from '../virtual-kubelet/report.ts';
import { scenarios } from '../virtual-kubelet/scenarios.ts';

const rows = readFileSync(join(repository, documentPath), 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '').trim()));
const tests = scenarios.flatMap((scenario) => scenario.tests);

describe(documentPath, () => {
  it('has a row for each scenario, with its reports', () => {
    const results = rows.filter((row) => row.length === 4).slice(2);
    expect(results.map(([reports, text]) => [reports!.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'), text])).toEqual(
      scenarios.map(({ reports, text }) => [reports.join(', '), text]),
    );
  });

  it('says that everything holds here', () => {
    const results = rows.filter((row) => row.length === 4).slice(2);
    expect(results.filter(([, , ours]) => ours !== 'holds' && ours !== 'see its tests')).toEqual([]);
  });

  it('has a row for each test', () => {
    const named = rows.filter((row) => row.length === 2).slice(2);
    expect(new Set(named.map(([file, title]) => `${file} ${title}`))).toEqual(
      new Set(tests.map(([file, title]) => `\`test/${file}\` ${title}`)),
    );
  });

  it.each(tests)('names a title that test/%s has: %s', (file, title) => {
    expect(readFileSync(join(repository, 'test', file), 'utf8')).toContain(title);
  });

  it('has a test for each report, with its number in the title', () => {
    const missing = scenarios.flatMap(({ reports, tests }) => {
      const titles = tests.map(([, title]) => title).join('\n');
      return reports.filter((report) => !new RegExp(`#${report.split('#')[1]}\\b`).test(titles));
    });
    expect(missing).toEqual([]);
  });
});
