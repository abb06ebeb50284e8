import type { AgentName } from '../../support/node/agents.ts';
import type { Figures, Samples } from './measure.ts';

/** Medians. */
export interface ComparedFigures {
  readonly kubelet: Figures;
  readonly agent: Figures;
  /** The agent's by the kubelet's. */
  readonly ratios: Readonly<Record<keyof Figures, number>>;
}

const titles: Readonly<Record<keyof Figures, readonly [title: string, unit: string]>> = {
  createToRunningMs: ['create → Running', 'ms'],
  exitToTerminatedMs: ['exit → terminated', 'ms'],
  exitToSucceededMs: ['exit → Succeeded', 'ms'],
  deleteToDeletedMs: ['DELETE → DELETED', 'ms'],
  thirtyPodsReadyMs: ['30 pods ready', 'ms'],
  thirtyPodsGoneMs: ['30 pods gone', 'ms'],
  idleCPUPercent: ['CPU, 50 idle pods', '%'],
  idleMemoryMiB: ['RSS, 50 idle pods', 'MiB'],
};
const names = Object.keys(titles) as (keyof Figures)[];

/** @param turns of both agents */
export function compareFigures(turns: readonly Readonly<Record<AgentName, Samples>>[]): ComparedFigures {
  const figures = (agent: AgentName): Figures =>
    mapFigures((name) => median(turns.flatMap((samples) => samples[agent][name])));
  const kubelet = figures('kubelet');
  const agent = figures('agent');
  return { kubelet, agent, ratios: mapFigures((name) => agent[name] / kubelet[name]) };
}

export function renderFigures({ kubelet, agent, ratios }: ComparedFigures): string[] {
  const row = (title: string, ...cells: string[]): string =>
    [title.padEnd(18), ...cells.map((cell) => cell.padStart(10))].join('  ');
  const format = (value: number, unit: string): string => `${value.toFixed(unit === '%' ? 1 : 0)} ${unit}`;
  return [
    row('FIGURE', 'KUBELET', 'AGENT', 'RATIO'),
    ...names.map((name) => {
      const [title, unit] = titles[name];
      return row(title, format(kubelet[name], unit), format(agent[name], unit), ratios[name].toFixed(2));
    }),
  ];
}

function mapFigures(valueOf: (name: keyof Figures) => number): Figures {
  return Object.fromEntries(names.map((name) => [name, valueOf(name)])) as Record<keyof Figures, number>;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1]!;
}
