import { writeFileSync } from 'node:fs';
import { markdownTable, type Report, tableOf } from './report.ts';
import { projectPath } from './surroundings.ts';

const introduction = `# Performance

Written by \`npm run bench -- all --write\`; do not edit. Figures hold for the machine they were taken on: what counts is the ratio to what ran beside in the same run. \`npm run bench -- --help\` names the single benchmarks.

Each row is a median with the range it comes from; \`n\` is the number of processes or rounds, \`beside\` what it is compared with, \`ratio\` ours to that, \`aim\` what we want of the ratio (×) or of the value.
`;

export interface Section {
  readonly report: Report;
  /** Command, date, machine, versions. */
  readonly surroundings: Readonly<Record<string, string>>;
}

/** docs/performance.md as text. */
export function performanceDocument(sections: readonly Section[]): string {
  return [introduction, ...sections.map(sectionText)].join('\n');
}

function sectionText({ report, surroundings }: Section): string {
  const facts = Object.entries(surroundings).map(([name, text]) => `- ${name}: ${text}\n`);
  const notes = report.notes.map((note) => `${note}\n\n`);
  const plots = Object.keys(report.plots ?? {}).map((file) => `\n![${report.title}](${file})\n`);
  return `## ${report.title}\n\n${notes.join('')}${facts.join('')}\n${markdownTable(tableOf(report))}${plots.join('')}`;
}

/** Writes docs/performance.md and the plots beside it. */
export function writePerformanceDocument(sections: readonly Section[]): void {
  writeFileSync(projectPath('docs/performance.md'), performanceDocument(sections));
  for (const { report } of sections) {
    for (const [file, svg] of Object.entries(report.plots ?? {})) writeFileSync(projectPath(`docs/${file}`), svg);
  }
}
