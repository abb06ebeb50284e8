import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  disruptionTarget,
  foreignStatusMembers,
  isWrittenByKubelet,
  podConditionByKubelet,
  podConditionSharedByKubelet,
  timedConditionTypes,
} from '../../../src/status-manager/status/ownership.ts';

const source = new URL('../../../src/', import.meta.url);

describe('ownership of conditions', () => {
  it.each([
    'PodScheduled',
    'Ready',
    'Initialized',
    'ContainersReady',
    'PodResizeInProgress',
    'PodResizePending',
    'PodReadyToStartContainers',
    'AllContainersRestarting',
  ])('%s is owned and not shared', (type) => {
    expect(podConditionByKubelet(type)).toBe(true);
    expect(podConditionSharedByKubelet(type)).toBe(false);
    expect(isWrittenByKubelet(type)).toBe(true);
  });

  it('DisruptionTarget is shared and not owned', () => {
    expect(disruptionTarget).toBe('DisruptionTarget');
    expect(podConditionByKubelet(disruptionTarget)).toBe(false);
    expect(podConditionSharedByKubelet(disruptionTarget)).toBe(true);
    expect(isWrittenByKubelet(disruptionTarget)).toBe(true);
  });

  it.each(['example.com/gate', 'ready', '', 'constructor'])('%j is foreign', (type) => {
    expect(podConditionByKubelet(type)).toBe(false);
    expect(podConditionSharedByKubelet(type)).toBe(false);
    expect(isWrittenByKubelet(type)).toBe(false);
  });

  it('the status manager keeps the transition times of all types that the kubelet writes but the resize conditions', () => {
    expect(timedConditionTypes.toSorted()).toEqual([
      'AllContainersRestarting',
      'ContainersReady',
      'DisruptionTarget',
      'Initialized',
      'PodReadyToStartContainers',
      'PodScheduled',
      'Ready',
    ]);
  });
});

describe('who owns what stands in one place', () => {
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
    // The generated readers name every member.
    .filter((file) => file.endsWith('.ts') && !file.endsWith('object-readers.ts'))
    .map((file) => [file.replaceAll('\\', '/'), readFileSync(new URL(file, source), 'utf8')] as const);

  it('DisruptionTarget is a literal in ownership.ts only; an agent, which evicts pods itself, writes the condition', () => {
    const quoted = /(['"`])DisruptionTarget\1/;
    const core = files.filter(([file]) => !file.startsWith('agent/'));
    expect(core.filter(([, text]) => quoted.test(text)).map(([file]) => file)).toEqual([
      'status-manager/status/ownership.ts',
    ]);
  });

  it('no other file lists the foreign members of a pod status', () => {
    const namesIn = (text: string) => foreignStatusMembers.filter((member) => text.includes(`'${member}'`));
    expect(files.filter(([, text]) => namesIn(text).length > 1).map(([file]) => file)).toEqual([
      'status-manager/status/ownership.ts',
    ]);
  });
});
