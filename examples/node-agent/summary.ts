import { styleText } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import type { EndState } from './end-state.ts';
import { podName } from './pods.ts';

/**
 * The state of every pod at the end, as lines of text for people.
 * @param isTimeOver whether a pod that is not in its expected state counts as wrong; otherwise the user ended the demo early
 */
export function renderSummary(
  endStates: readonly (readonly [Pod, EndState])[],
  { isTimeOver, useColours }: { isTimeOver: boolean; useColours: boolean },
): string[] {
  if (endStates.length === 0) return ['There were no pods on this node.'];
  const width = Math.max(...endStates.map(([pod]) => podName(pod).length));
  return endStates.map(([pod, { expected, found, isExpected }]) => {
    const name = podName(pod).padEnd(width);
    if (!isTimeOver) return `${name}  ${found}`;
    const mark = isExpected ? 'ok   ' : 'WRONG';
    const colouredMark = useColours ? styleText(isExpected ? 'green' : 'red', mark) : mark;
    return `${colouredMark}  ${name}  ${isExpected ? expected : `expected ${expected}, found ${found}`}`;
  });
}
