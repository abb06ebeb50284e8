import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../examples/node-agent/duration.ts';
import { parseOptions } from '../../../examples/node-agent/options.ts';

describe('parseDuration', () => {
  it.each([
    ['20s', 20_000],
    ['1m30s', 90_000],
    ['500ms', 500],
    ['2h', 7_200_000],
    ['0s', 0],
    ['', undefined],
    ['20', undefined],
    ['-1s', undefined],
    ['1.5s', undefined],
    ['1d', undefined],
  ])('%s is %s ms', (text, durationMs) => {
    expect(parseDuration(text)).toBe(durationMs);
  });
});

describe('parseOptions', () => {
  it('fills in the defaults', () => {
    const { nodeName, ...others } = parseOptions([]);
    expect(nodeName).toMatch(/^node-agent(-[a-z0-9][-a-z0-9]*)?$/);
    expect(others).toEqual({ port: 0, logLevel: 'warn' });
  });

  it('reads every option', () => {
    const args = '--port 8001 --node-name n-1.example --manifests a b --for 1m --crash-loop-base 2s --log-level debug';
    expect(parseOptions(args.split(' '))).toEqual({
      port: 8001,
      nodeName: 'n-1.example',
      manifests: ['a', 'b'],
      forMs: 60_000,
      crashLoopBaseMs: 2_000,
      logLevel: 'debug',
    });
    expect(parseOptions(['--kubeconfig', 'file'])).toMatchObject({ kubeconfig: 'file' });
  });
});
