import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { repository } from '../support/repository.ts';
import { type Scenario, scenarios } from './scenarios.ts';

/** What was seen; undefined if it is as expected. */
export type Outcome = string | undefined;

type Outcomes = Readonly<Record<'polls' | 'notifies', Outcome>>;

/** Of a scenario; a side that was not asked is absent. */
export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly ours?: Outcomes;
  readonly theirs?: Outcomes;
}

/** Below the repository. */
export const documentPath = 'docs/internals/virtual-kubelet-reports.md';

/** In the document, the results follow. */
const begin = '<!-- Written by npm run virtual-kubelet -- --write; do not edit. -->\n';

const repositories: Readonly<Record<string, string>> = {
  'azure-aci': 'virtual-kubelet/azure-aci',
  interLink: 'interlink-hq/interLink',
  liqo: 'liqotech/liqo',
  'node-cli': 'virtual-kubelet/node-cli',
  'tensile-kube': 'virtual-kubelet/tensile-kube',
  'virtual-kubelet': 'virtual-kubelet/virtual-kubelet',
};

/** For a terminal. */
export function renderResult({ scenario, ours, theirs }: ScenarioResult): string {
  const { name, reports } = scenario;
  return `${name}${reports.length === 0 ? '' : ` (${reports.join(', ')})`}\n  here: ${renderOurs(ours)}\n  virtual-kubelet: ${renderTheirs(scenario, theirs)}\n`;
}

/** @throws Error unless these are the results of all scenarios */
export function writeDocument(results: readonly ScenarioResult[]): void {
  if (results.length !== scenarios.length) throw new Error('Only the results of all scenarios can be written');
  const path = join(repository, documentPath);
  const [introduction] = readFileSync(path, 'utf8').split(begin);
  writeFileSync(path, `${introduction}${begin}\n${[...resultTable(results), '', ...testTable()].join('\n')}\n`);
}

function resultTable(results: readonly ScenarioResult[]): string[] {
  return table([
    ['Reports', 'What is done, and expected', 'Here', 'virtual-kubelet v1.14.1'],
    ...results.map(({ scenario, ours, theirs }) => [
      scenario.reports.map(linkOf).join(', '),
      scenario.text,
      renderOurs(ours),
      renderTheirs(scenario, theirs),
    ]),
  ]);
}

/** The rows of the reports, and of what nobody has reported. */
function testTable(): string[] {
  return [
    '## Tests',
    '',
    'The same on the API server in memory, with the numbers of the reports:',
    '',
    ...table([
      ['Test', 'Title'],
      ...[...new Map(scenarios.flatMap(({ tests }) => tests).map(([file, title]) => [title, `\`test/${file}\``]))].map(
        ([title, file]) => [file, title],
      ),
    ]),
  ];
}

/** With columns as wide as their widest cell, as the formatter wants them. */
function table(rows: readonly (readonly string[])[]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const line = (row: readonly string[]): string => `| ${row.map((cell, i) => cell.padEnd(widths[i]!)).join(' | ')} |`;
  return [line(rows[0]!), line(widths.map((width) => '-'.repeat(width))), ...rows.slice(1).map(line)];
}

function linkOf(report: string): string {
  const [name = '', number] = report.split(' #');
  return `[${report}](https://github.com/${repositories[name]}/issues/${number})`;
}

function renderOurs(outcomes: Outcomes | undefined): string {
  return outcomes === undefined ? 'see its tests' : renderOutcomes(outcomes);
}

function renderTheirs({ notAsked }: Scenario, outcomes: Outcomes | undefined): string {
  return outcomes === undefined ? `not run: ${notAsked}` : renderOutcomes(outcomes);
}

function renderOutcomes({ polls, notifies }: Outcomes): string {
  if (polls === notifies) return polls ?? 'holds';
  return `polled: ${polls ?? 'holds'}; notified: ${notifies ?? 'holds'}`;
}
