import { inspect, styleText } from 'node:util';
import type { Difference } from './compare/compare.ts';
import type { HandOverChange } from './hand-over/hand-over.ts';
import type { ShapeResult } from './shape-result.ts';

const colours = { same: 'green', declared: 'yellow', different: 'red', failed: 'red' } as const;

/** The table, and below it the differences of each shape by path. */
export function renderResults(results: readonly ShapeResult[], useColours: boolean): string[] {
  const style = (format: 'bold' | 'gray' | (typeof colours)[keyof typeof colours], text: string): string =>
    useColours ? styleText(format, text, { validateStream: false }) : text;
  const width = Math.max(5, ...results.map(({ shape }) => shape.length));
  const row = (shape: string, result: string, ...cells: string[]): string =>
    [shape.padEnd(width), result.padEnd(9), ...cells.map((cell) => cell.padStart(12))].join('  ');
  return [
    style('bold', row('SHAPE', 'RESULT', 'WATCH EVENTS', 'EVENTS', 'SECONDS', 'TRIES')),
    ...results.map(({ shape, result, watchEvents, events, seconds, tries }) =>
      row(
        shape,
        result,
        `${watchEvents.kubelet}/${watchEvents.agent}`,
        `${events.kubelet}/${events.agent}`,
        `${seconds.kubelet.toFixed(1)}/${seconds.agent.toFixed(1)}`,
        String(tries),
      ).replace(result, style(colours[result], result)),
    ),
    ...results.flatMap(({ shape, errors, differences }) =>
      errors.length + differences.length === 0
        ? []
        : ['', style('bold', shape), ...errors.map((error) => `  ${error}`), ...differences.flatMap(renderDifference)],
    ),
  ];
}

/** What changed after each hand-over; one line if nothing did. */
export function renderHandOver(changes: readonly HandOverChange[]): string[] {
  if (changes.length === 0) return ['No status changed that should stay, and no container was started again.'];
  return changes.flatMap(({ pod, to, paths }) => [
    `${pod}: changed by the ${to}`,
    ...paths.map(({ path, kubelet, agent }) => `    ${path}: ${show(kubelet)} → ${show(agent)}`),
  ]);
}

const maxPaths = 12;

function renderDifference({ pod, in: where, step, shownBy, paths, declared }: Difference): string[] {
  const of = where === 'statuses' ? 'Watch event' : 'Event';
  const who = shownBy === 'both' ? 'differs' : `of the ${shownBy} only`;
  return [
    `  ${of} ${step} of ${pod} ${who}${declared === undefined ? '' : ` (declared: ${declared.reason})`}`,
    ...paths.slice(0, maxPaths).map(({ path, kubelet, agent }) => {
      if (shownBy === 'both') return `    ${path}: kubelet ${show(kubelet)}, agent ${show(agent)}`;
      return `    ${path}: ${shownBy === 'kubelet' ? `${show(agent)} → ${show(kubelet)}` : `${show(kubelet)} → ${show(agent)}`}`;
    }),
    ...(paths.length > maxPaths ? [`    and ${paths.length - maxPaths} more`] : []),
  ];
}

function show(value: unknown): string {
  return value === undefined ? 'absent' : inspect(value, { breakLength: Infinity, maxStringLength: 300 });
}
