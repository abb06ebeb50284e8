import { nightFaults, type Sign, watchNight } from './night.ts';

/** `npm run outages [WORD…]`: what an operator sees of each fault, and when; only faults with one of the words. */
const words = process.argv.slice(2);
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
