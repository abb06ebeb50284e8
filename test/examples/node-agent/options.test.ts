import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../examples/node-agent/duration.ts';
import { parseOptions, type RunOptions } from '../../../examples/node-agent/options.ts';

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
    const { command, options } = parseOptions([]);
    expect(command).toBe('run');
    const { nodeName, ...others } = options as RunOptions;
    expect(nodeName).toMatch(/^node-agent(-[a-z0-9][-a-z0-9]*)?$/);
    const rootDirectory = join(homedir(), '.node-agent', nodeName);
    expect(others).toEqual({
      port: 0,
      rootDirectory,
      demo: false,
      leaveRunning: false,
      logLevel: 'warn',
      outageForMs: 20_000,
    });
  });

  it('reads every option', () => {
    const args =
      '--port 8001 --node-name n-1.example --root-dir /r --demo --manifests a b --pod-manifest-path m --for 1m --outage-after 5s --outage-for 40s --leave-running --log-level debug';
    expect(parseOptions(args.split(' '))).toEqual({
      command: 'run',
      options: {
        port: 8001,
        nodeName: 'n-1.example',
        rootDirectory: '/r',
        demo: true,
        manifests: ['a', 'b'],
        podManifestPath: 'm',
        forMs: 60_000,
        outageAfterMs: 5_000,
        outageForMs: 40_000,
        leaveRunning: true,
        logLevel: 'debug',
      },
    });
    expect(parseOptions(['--kubeconfig', 'file'])).toMatchObject({ options: { kubeconfig: 'file' } });
  });

  it('reads the command logs', () => {
    expect(parseOptions(['logs', 'web', '-c', 'c', '-n', 'ns', '-p', '--node-name', 'n-1'])).toEqual({
      command: 'logs',
      options: {
        pod: 'web',
        container: 'c',
        namespace: 'ns',
        previous: true,
        rootDirectory: join(homedir(), '.node-agent', 'n-1'),
      },
    });
    expect(parseOptions(['logs', 'web', '--root-dir', '/r'])).toMatchObject({ options: { rootDirectory: '/r' } });
    expect(parseOptions(['logs', 'shop/web'])).toMatchObject({ options: { namespace: 'shop', pod: 'web' } });
  });
});
