import { describe, expect, it } from 'vitest';
import { resolveContainerCommand } from '../../../examples/node-agent/container-command.ts';

const pod = { metadata: { name: 'web' } };

describe('resolveContainerCommand', () => {
  it('appends args to the command, and puts the pod into the environment', () => {
    expect(
      resolveContainerCommand(pod, { name: 'c', command: ['sh', '-c'], args: ['exit 0'], workingDir: '/' }),
    ).toEqual({ file: 'sh', args: ['-c', 'exit 0'], env: { HOSTNAME: 'web' }, workingDir: '/' });
  });

  it.each([
    ['$(A)', 'one'],
    ['$(B)', 'two one'],
    ['$(UNKNOWN)', '$(UNKNOWN)'],
    ['$$(A)', '$(A)'],
    ['$$', '$'],
    ['$A $(', '$A $('],
    ['$(__proto__)', '$(__proto__)'],
    ['$(LATER)', 'x'],
    ['$(EARLY)', '$(LATER)'],
  ])('expands %s to %s', (argument, expanded) => {
    const { args } = resolveContainerCommand(pod, {
      name: 'c',
      command: ['echo', argument],
      env: [
        { name: 'A', value: 'one' },
        { name: 'B', value: 'two $(A)' },
        { name: 'EARLY', value: '$(LATER)' },
        { name: 'LATER', value: 'x' },
      ],
    });
    expect(args).toEqual([expanded]);
  });

  it.each([
    [{}, 'the container has no command'],
    [{ args: ['only', 'args'] }, 'the container has no command'],
    [{ command: [] }, 'the container has no command'],
    [{ command: ['x'], envFrom: [{ secretRef: { name: 's' } }] }, 'envFrom is not supported'],
    [
      { command: ['x'], env: [{ name: 'KEY', valueFrom: { secretKeyRef: {} } }] },
      'env KEY: valueFrom is not supported',
    ],
  ])('refuses %j', (container, message) => {
    expect(() => resolveContainerCommand(pod, { name: 'c', ...container })).toThrow(message);
  });
});
