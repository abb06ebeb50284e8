import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { agentIsBuilt } from './node-agent/run-agent.ts';

const program = fileURLToPath(new URL('../../dist/examples/virtual-kubelet-provider/main.js', import.meta.url));

interface Line {
  readonly name?: string;
  readonly phase?: string;
  readonly isDown?: boolean;
}

describe.skipIf(!agentIsBuilt)('examples/virtual-kubelet-provider (skipped before `npm run build`)', () => {
  it('runs the pods of three nodes in a cloud that fails, and catches up after its outage', async () => {
    const args = [program, '--for', '40s', '--outage-after', '8s', '--seed', '3'];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const lines = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line);
    expect(lines.filter(({ isDown }) => isDown !== undefined)).toEqual([{ isDown: true }, { isDown: false }]);
    const last = new Map(lines.flatMap(({ name, phase }) => (name === undefined ? [] : [[name, phase]])));
    expect(Object.fromEntries(last)).toEqual({
      'job-cloud-a': 'Succeeded',
      'job-cloud-b': 'Succeeded',
      'job-cloud-c': 'Succeeded',
      'web-cloud-a': 'Running',
      'web-cloud-b': 'Running',
      'web-cloud-c': 'Running',
    });
  });
});
