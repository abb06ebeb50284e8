import { readFileSync, writeFileSync } from 'node:fs';
import { drillDocument, drillGuide, withDrillTable } from './virtual-nodes-drill.ts';
import { subjects } from './lines-a-minute.ts';
import { nightFaults, type Sign, watchNight } from './night.ts';

/**
 * `npm run outages [WORD…]`: what an operator sees of each fault, and when; only faults with one of the words. The word
 * `lines` counts log lines instead; `virtual-nodes` prints docs/internals/virtual-nodes-drill.md and the table of the guide, and `--write`
 * writes them; format them afterwards.
 */
const words = process.argv.slice(2);
if (words.includes('virtual-nodes')) {
  const { document, summary } = await drillDocument();
  if (words.includes('--write')) {
    writeFileSync('docs/internals/virtual-nodes-drill.md', document);
    writeFileSync(drillGuide, withDrillTable(readFileSync(drillGuide, 'utf8'), summary));
  } else process.stdout.write(`${document}\n${summary}`);
  process.exit();
}
if (words.includes('lines')) {
  const { manager, forbidden, agent, virtualNodes } = subjects;
  const most: ReadonlyMap<object, number> = new Map([
    [agent, 100],
    [virtualNodes, 40],
  ]);
  for (const subject of [manager, forbidden, agent, virtualNodes])
    for (const pods of [5, most.get(subject) ?? 500])
      console.log(`${subject.name}, ${pods} pods: lines a minute: ${(await subject.linesOf(pods, 5)).join(', ')}`);
  process.exit();
}
const cell = (sign: Sign | undefined): string => {
  if (sign === undefined) return '- | - | -';
  const clear = sign.clearSeconds === undefined ? '-' : `${sign.clearSeconds} s`;
  return `${sign.afterSeconds} s | ${clear} | ${sign.text.replaceAll('|', '\\|').slice(0, 110)}`;
};
console.log('| Fault | Seen in | First after | Gone after | What it says |\n| --- | --- | --- | --- | --- |');
for (const fault of nightFaults.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))) {
  const { log, page, alert } = await watchNight(fault);
  console.log(`| ${fault.name} | log | ${cell(log)} |\n| | page | ${cell(page)} |\n| | alert | ${cell(alert)} |`);
}
