import { readFileSync, writeFileSync } from 'node:fs';
import { markdownTables, type Report } from './report.ts';
import { projectPath } from './environment.ts';

const introduction = `# Results of the benchmarks

Written by \`npm run bench -- all --write\`, or a section by its own benchmark; do not edit.
\`npm run bench -- --help\` lists the benchmarks, and docs/internals/performance.md explains the most important
rows. Each row has a median with the range of its values; \`n\` is the number of processes or rounds,
\`reference\` the median of what is compared, \`ratio\` our median divided by that one, and \`target\`
our target for the ratio (×) or for the value.
`;

/** Beside the other pictures; docs/internals/performance.md shows one of them. */
const plotFolder = 'docs/images';

export interface Section {
  readonly report: Report;
  /** Command, date, machine, versions. */
  readonly environment: Readonly<Record<string, string>>;
}

/** The sections of the document, by their titles. */
function sectionsOf(document: string): Map<string, string> {
  const [, ...sections] = document.split(/^## /m);
  return new Map(sections.map((text) => [text.slice(0, text.indexOf('\n')), `## ${text.trimEnd()}\n`]));
}

function sectionText({ report, environment }: Section): string {
  const facts = Object.entries(environment).map(
    ([name, text]) => `${wrapped(`- ${name}: ${text}`).replaceAll('\n', '\n  ')}\n`,
  );
  const notes = report.notes.map((note) => `${wrapped(note)}\n\n`);
  const plots = Object.keys(report.plots ?? {}).map((file) => `\n![${report.title}](../${plotFolder}/${file})\n`);
  return `## ${report.title}\n\n${notes.join('')}${facts.join('')}\n${markdownTables(report)}${plots.join('')}`;
}

/** On 100 columns, as the other documents. */
function wrapped(text: string): string {
  return text.replaceAll(/(?![^\n]{1,98}$)([^\n]{1,98}) /g, '$1\n');
}

/** Writes these sections of bench/results.md, and their plots; other sections stay. */
export function writeResults(sections: readonly Section[]): void {
  const file = projectPath('bench/results.md');
  const texts = sectionsOf(readFileSync(file, 'utf8'));
  for (const section of sections) texts.set(section.report.title, sectionText(section));
  writeFileSync(file, [introduction, ...texts.values()].join('\n'));
  for (const { report } of sections) {
    for (const [file, svg] of Object.entries(report.plots ?? {})) {
      writeFileSync(projectPath(`${plotFolder}/${file}`), svg);
    }
  }
}
