import { agentSetting } from './agent/agent-setting.ts';
import { criSetting } from './cri/cri-setting.ts';
import { managerSetting } from './manager/manager-setting.ts';
import type { Setting } from './setting.ts';
import { virtualNodesSetting } from './virtual-nodes/virtual-nodes-setting.ts';

/** All settings, by name. */
export const settings: ReadonlyMap<string, Setting> = new Map(
  [managerSetting, agentSetting, criSetting, virtualNodesSetting].map((setting) => [setting.name, setting]),
);
