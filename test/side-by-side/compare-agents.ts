import { compareWithAny } from './compare/compare.ts';
import { measureFigures, type Samples } from './figures/measure.ts';
import { compareFigures, type ComparedFigures } from './figures/render.ts';
import type { AgentName } from '../support/node/agents.ts';
import type { ShapeNode } from '../support/node/node-under-test.ts';
import type { Progress } from '../support/progress.ts';
import type { Recording } from './recording.ts';
import type { RecordingsFolder } from './recordings-folder.ts';
import { needsAnotherTry, shapeResult, type ShapeResult } from './shape-result.ts';
import { runShapes, type RunShapesOptions } from './run-shapes.ts';
import type { Session } from '../support/node/session.ts';
import type { Shape } from './shape.ts';

/** Runs a node with one agent after the other. */
export interface NodeOfAgents {
  withAgent<T>(name: AgentName, use: (node: ShapeNode) => Promise<T>): Promise<T>;
}

export interface CompareOptions extends Omit<RunShapesOptions, 'onRecorded'> {
  readonly shapes: readonly Shape[];
  readonly recordings: RecordingsFolder;
  readonly progress: Progress;
}

const maxTries = 3;
const figureTurns = 3;

/** Records shapes on the kubelet, in addition to the recordings that are there. */
export async function recordKubelet(
  nodes: NodeOfAgents,
  shapes: readonly Shape[],
  options: CompareOptions,
): Promise<void> {
  if (shapes.length === 0) return;
  for (const recording of await record(nodes, 'kubelet', shapes, options)) options.recordings.add(recording);
}

/**
 * Runs shapes on both agents. Those that differ are tried again on both, also if chance may have decided: the status
 * managers of either side write two statuses in quick succession as one, and some races are the kubelet's own.
 */
export async function compareAgents(nodes: NodeOfAgents, options: CompareOptions): Promise<ShapeResult[]> {
  const { shapes, recordings } = options;
  const results = new Map<string, ShapeResult>();
  let missing = shapes.filter(({ name }) => recordings.read(name).length === 0);
  let next = shapes;
  for (let tries = 1; next.length > 0 && tries <= maxTries; tries++) {
    await recordKubelet(nodes, missing, options);
    for (const result of await tryShapes(nodes, next, options, tries)) results.set(result.shape, result);
    next = missing = next.filter(({ name }) => needsAnotherTry(results.get(name)!));
  }
  return shapes.map(({ name }) => results.get(name)!);
}

async function tryShapes(
  nodes: NodeOfAgents,
  shapes: readonly Shape[],
  options: CompareOptions,
  tries: number,
): Promise<ShapeResult[]> {
  return (await record(nodes, 'agent', shapes, options)).map((ours) => {
    const theirs = options.recordings.read(ours.shape);
    return shapeResult(theirs, ours, compareWithAny(theirs, ours), tries);
  });
}

/** Measures both agents in turns: how fast a machine is changes from minute to minute. */
export async function measureAgents(session: Session, progress: Progress): Promise<ComparedFigures> {
  const turns: Record<AgentName, Samples>[] = [];
  for (let turn = 1; turn <= figureTurns; turn++) {
    const measure = (name: AgentName): Promise<Samples> => {
      progress.begin(`figures of the ${name}, turn ${turn} of ${figureTurns}`);
      return session.withAgent(name, measureFigures);
    };
    turns.push({ kubelet: await measure('kubelet'), agent: await measure('agent') });
  }
  progress.end();
  return compareFigures(turns);
}

async function record(
  nodes: NodeOfAgents,
  agent: AgentName,
  shapes: readonly Shape[],
  { progress, ...options }: CompareOptions,
): Promise<Recording[]> {
  progress.begin(agent, shapes.length);
  const recordings: Recording[] = [];
  const onRecorded = (recording: Recording): void => {
    recordings.push(recording);
    progress.advance();
  };
  await nodes.withAgent(agent, (node) => runShapes(node, shapes, { ...options, onRecorded }));
  progress.end();
  return recordings;
}
