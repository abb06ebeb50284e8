import { styleText } from 'node:util';
import type { Pod } from 'kubelet-status-manager';
import type { EndState } from './end-state.ts';
import { podName } from './pods.ts';

/** Every pod's end state as lines for people. */
export function renderSummary(endStates: readonly (readonly [Pod, EndState])[], useColours: boolean): string[] {
  if (endStates.length === 0) return ['No pod was on this node.'];
  const width = Math.max(...endStates.map(([pod]) => podName(pod).length));
  return endStates.map(([pod, { expected, found, isRight }]) => {
    const mark = isRight ? 'right' : 'WRONG';
    const colouredMark = useColours ? styleText(isRight ? 'green' : 'red', mark) : mark;
    return `${colouredMark}  ${podName(pod).padEnd(width)}  expected ${expected}, found ${found}`;
  });
}
