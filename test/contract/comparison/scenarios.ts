import { deletions } from './scenarios-deletion.ts';
import { decoding } from './scenarios-decoding.ts';
import { materials } from './scenarios-materials.ts';
import { nodeUsers } from './scenarios-node-user.ts';
import { others } from './scenarios-others.ts';
import { podValidation } from './scenarios-pod-validation.ts';
import { pods } from './scenarios-pods.ts';
import { reading } from './scenarios-reading.ts';
import type { Scenario } from './request.ts';

export const scenarios: readonly Scenario[] = [
  ...decoding,
  ...podValidation,
  ...pods,
  ...deletions,
  ...nodeUsers,
  ...others,
  ...reading,
  ...materials,
];
