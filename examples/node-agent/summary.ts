import { styleText } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import type { EndState } from './end-state.ts';
import { podName } from './pods.ts';

/**
 * Every pod's end state as lines for people.
 * @param isTimeOver what has not been reached by now is wrong; else it might have been later
 */
export function renderSummary(
  endStates: readonly (readonly [Pod, EndState])[],
  { isTimeOver, useColours }: { isTimeOver: boolean; useColours: boolean },
): string[] {
  if (endStates.length === 0) return ['No pod was on this node.'];
  const width = Math.max(...endStates.map(([pod]) => podName(pod).length));
  return endStates.map(([pod, { expected, found, isRight }]) => {
    const mark = isRight ? 'right  ' : isTimeOver ? 'WRONG  ' : 'not yet';
    const colour = isRight ? 'green' : isTimeOver ? 'red' : 'yellow';
    const colouredMark = useColours ? styleText(colour, mark) : mark;
    return `${colouredMark}  ${podName(pod).padEnd(width)}  expected ${expected}, found ${found}`;
  });
}
