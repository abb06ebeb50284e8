import { writeFileSync } from 'node:fs';
import { markdownTables, type Report } from './report.ts';
import { projectPath } from './environment.ts';

const introduction = `# Performance

This page proves how fast the library is beside the kubelet's own Go code and virtual-kubelet, which
are measured in the same run on the same machine: what matters are the ratios and the targets that
are met or missed. The absolute figures depend on the machine and prove nothing by themselves.

Written by \`npm run bench -- all --write\`; do not edit. \`npm run bench -- --help\` lists the
benchmarks. Each row has a median with the range of its values; \`n\` is the number of processes or
rounds, \`reference\` the median of what is compared, \`ratio\` our median divided by that one, and
\`target\` our target for the ratio (×) or for the value.
`;

export interface Section {
  readonly report: Report;
  /** Command, date, machine, versions. */
  readonly environment: Readonly<Record<string, string>>;
}

/** docs/performance.md as text. */
function performanceDocument(sections: readonly Section[]): string {
  return [introduction, ...sections.map(sectionText)].join('\n');
}

function sectionText({ report, environment }: Section): string {
  const facts = Object.entries(environment).map(
    ([name, text]) => `${wrapped(`- ${name}: ${text}`).replaceAll('\n', '\n  ')}\n`,
  );
  const notes = report.notes.map((note) => `${wrapped(note)}\n\n`);
  const plots = Object.keys(report.plots ?? {}).map((file) => `\n![${report.title}](${file})\n`);
  return `## ${report.title}\n\n${notes.join('')}${facts.join('')}\n${markdownTables(report)}${plots.join('')}`;
}

/** On 100 columns, as the other documents. */
function wrapped(text: string): string {
  return text.replaceAll(/(?![^\n]{1,98}$)([^\n]{1,98}) /g, '$1\n');
}

/** Writes docs/performance.md and the plots beside it. */
export function writePerformanceDocument(sections: readonly Section[]): void {
  writeFileSync(projectPath('docs/performance.md'), performanceDocument(sections));
  for (const { report } of sections) {
    for (const [file, svg] of Object.entries(report.plots ?? {})) writeFileSync(projectPath(`docs/${file}`), svg);
  }
}
