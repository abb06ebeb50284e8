import type { Json } from '../../support/kube-http.ts';
import type { Recording } from '../recording.ts';
import { align } from './align.ts';
import { declarationOf, type Declaration } from './declared.ts';
import { differingPaths, type PathDifference } from './paths.ts';
import { isSame, stepsOf } from './steps.ts';

/** Steps of the kubelet and of the agent that are not the same. */
export interface Difference {
  readonly shape: string;
  readonly pod: string;
  readonly in: 'statuses' | 'events';
  /** Counted from 1 in the sequence of whoever shows it. */
  readonly step: number;
  /** Both show the step with other values, or only one of them shows it. */
  readonly shownBy: 'both' | 'kubelet' | 'agent';
  /** Of a step that only one side shows: what changes from the step before. */
  readonly paths: readonly PathDifference[];
  readonly declared?: Declaration;
}

/** Every difference between two recordings of a shape; none if a watcher could not tell them apart. */
export function compareRecordings(kubelet: Recording, agent: Recording): Difference[] {
  return Object.keys(kubelet.pods).flatMap((pod) => {
    const [theirs, ours] = [stepsOf(kubelet, pod), stepsOf(agent, pod)];
    return [
      ...compareSequences({ shape: kubelet.shape, pod, in: 'statuses' }, theirs.statuses, ours.statuses),
      ...compareSequences({ shape: kubelet.shape, pod, in: 'events' }, theirs.events, ours.events),
    ];
  });
}

/**
 * The differences to the recording of the kubelet that comes closest: what depends on chance there
 * differs between its recordings, too.
 */
export function compareWithAny(kubelet: readonly Recording[], agent: Recording): Difference[] {
  const all = kubelet.map((recording) => compareRecordings(recording, agent));
  const undeclared = (differences: readonly Difference[]): number =>
    differences.filter(({ declared }) => declared === undefined).length;
  return all.sort((a, b) => undeclared(a) - undeclared(b) || a.length - b.length)[0] ?? [];
}

type Where = Pick<Difference, 'shape' | 'pod' | 'in'>;

function compareSequences(where: Where, kubelet: readonly Json[], agent: readonly Json[]): Difference[] {
  if (isSame(kubelet, agent)) return [];
  return align(kubelet, agent).flatMap(({ kubelet: theirs, agent: ours }) => {
    if (theirs !== undefined && ours !== undefined && isSame(kubelet[theirs], agent[ours])) return [];
    const shownBy = theirs === undefined ? 'agent' : ours === undefined ? 'kubelet' : 'both';
    const paths =
      shownBy === 'both'
        ? differingPaths(kubelet[theirs!], agent[ours!])
        : shownBy === 'kubelet'
          ? differingPaths(kubelet[theirs!], kubelet[theirs! - 1])
          : differingPaths(agent[ours! - 1], agent[ours!]);
    const difference = { ...where, step: (ours ?? theirs!) + 1, shownBy, paths } as const;
    const [sequence, index] = shownBy === 'kubelet' ? [kubelet, theirs!] : [agent, ours!];
    const declared = declarationOf(difference, {
      step: sequence[index],
      between: [sequence[index - 1], sequence[index + 1]],
    });
    return [{ ...difference, ...(declared && { declared }) }];
  });
}
