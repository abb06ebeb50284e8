import { styleText } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import type { EndState } from './end-state.ts';
import { podName } from './pods.ts';

/**
 * The end state of every pod, as lines of text for people.
 * @param isTimeOver whether a pod that is not in its expected state counts as wrong; otherwise it had too little time
 */
export function renderSummary(
  endStates: readonly (readonly [Pod, EndState])[],
  { isTimeOver, useColours }: { isTimeOver: boolean; useColours: boolean },
): string[] {
  if (endStates.length === 0) return ['There were no pods on this node.'];
  const width = Math.max(...endStates.map(([pod]) => podName(pod).length));
  return endStates.map(([pod, { expected, found, isExpected }]) => {
    const mark = isExpected ? 'ok     ' : isTimeOver ? 'WRONG  ' : 'not yet';
    const colour = isExpected ? 'green' : isTimeOver ? 'red' : 'yellow';
    const colouredMark = useColours ? styleText(colour, mark) : mark;
    return `${colouredMark}  ${podName(pod).padEnd(width)}  ${isExpected ? expected : `expected ${expected}, found ${found}`}`;
  });
}
