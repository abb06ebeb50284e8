import { compareWithAny } from './compare/compare.ts';
import { type Figures, measureFigures } from './figures/measure.ts';
import { compareFigures, type ComparedFigures } from './figures/render.ts';
import { type AgentName, agentNames } from './node/agents.ts';
import type { Progress } from './progress.ts';
import type { Recording } from './recording.ts';
import type { RecordingsFolder } from './recordings-folder.ts';
import { shapeResult, type ShapeResult } from './report.ts';
import { runShapes } from './run-shapes.ts';
import type { Session } from './session.ts';
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
 * Runs shapes on both agents. Where they differ, the kubelet gets a second try: what depends on chance
 * there is no difference.
 */
export async function compareAgents(session: Session, options: CompareOptions): Promise<ShapeResult[]> {
  const { shapes, recordings } = options;
  await recordKubelet(
    session,
    shapes.filter(({ name }) => recordings.read(name).length === 0),
    options,
  );
  const ours = await record(session, 'agent', shapes, options);
  const compare = (recording: Recording): ShapeResult => {
    const theirs = recordings.read(recording.shape);
    return shapeResult(theirs, recording, compareWithAny(theirs, recording));
  };
  const isUnequal = (recording: Recording): boolean => compare(recording).result === 'different';
  await recordKubelet(
    session,
    ours.filter(isUnequal).map(({ shape }) => shapes.find(({ name }) => name === shape)!),
    options,
  );
  return shapes.map(({ name }) => compare(ours.find(({ shape }) => shape === name)!));
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
