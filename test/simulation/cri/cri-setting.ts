import { createAgentSetting } from '../agent/agent-setting.ts';
import { SimulatedCRINode } from './simulated-cri-node.ts';

/** A node agent on `createCRIRuntime`, with a simulated service of the CRI. */
export const criSetting = createAgentSetting('cri', (machine) => new SimulatedCRINode(machine));
