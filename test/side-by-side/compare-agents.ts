import { compareWithAny } from './compare/compare.ts';
import { type Figures, measureFigures } from './figures/measure.ts';
import { compareFigures, type ComparedFigures } from './figures/render.ts';
import { type AgentName, agentNames } from '../support/node/agents.ts';
import type { Progress } from './progress.ts';
import type { Recording } from './recording.ts';
import type { RecordingsFolder } from './recordings-folder.ts';
import { shapeResult, type ShapeResult } from './report.ts';
import { runShapes } from './run-shapes.ts';
import type { Session } from '../support/node/session.ts';
import type { Shape } from './shape.ts';

export interface CompareOptions {
  readonly shapes: readonly Shape[];
  readonly concurrency: number;
  readonly recordings: RecordingsFolder;
  readonly progress: Progress;
}

/** Records shapes on the kubelet, in addition to the recordings that are there. */
export async function recordKubelet(
  session: Session,
  shapes: readonly Shape[],
  options: CompareOptions,
): Promise<void> {
  if (shapes.length === 0) return;
  for (const recording of await record(session, 'kubelet', shapes, options)) options.recordings.add(recording);
}

/**
 * Runs shapes on both agents. Those that differ get a second try on both: on a busy machine, the status
 * managers of either side write two statuses in quick succession as one.
 */
export async function compareAgents(session: Session, options: CompareOptions): Promise<ShapeResult[]> {
  const { shapes, recordings } = options;
  const missing = shapes.filter(({ name }) => recordings.read(name).length === 0);
  await recordKubelet(session, missing, options);
  const results = new Map((await tryShapes(session, shapes, options)).map((result) => [result.shape, result]));
  const again = shapes.filter(({ name }) => ['different', 'failed'].includes(results.get(name)!.result));
  if (again.length > 0) {
    await recordKubelet(session, again, options);
    for (const result of await tryShapes(session, again, options)) results.set(result.shape, { ...result, tries: 2 });
  }
  return shapes.map(({ name }) => results.get(name)!);
}

async function tryShapes(session: Session, shapes: readonly Shape[], options: CompareOptions): Promise<ShapeResult[]> {
  return (await record(session, 'agent', shapes, options)).map((ours) => {
    const theirs = options.recordings.read(ours.shape);
    return shapeResult(theirs, ours, compareWithAny(theirs, ours));
  });
}

/** Measures both agents, one after the other. */
export async function measureAgents(session: Session, progress: Progress): Promise<ComparedFigures> {
  const figures: Partial<Record<AgentName, Figures>> = {};
  for (const name of agentNames) {
    progress.begin(`figures of the ${name}`);
    figures[name] = await session.withAgent(name, measureFigures);
  }
  progress.end();
  return compareFigures(figures.kubelet!, figures.agent!);
}

async function record(
  session: Session,
  agent: AgentName,
  shapes: readonly Shape[],
  { concurrency, progress }: CompareOptions,
): Promise<Recording[]> {
  progress.begin(agent, shapes.length);
  const recordings: Recording[] = [];
  const onRecorded = (recording: Recording): void => {
    recordings.push(recording);
    progress.advance();
  };
  await session.withAgent(agent, (node) => runShapes(node, shapes, { concurrency, onRecorded }));
  progress.end();
  return recordings;
}
