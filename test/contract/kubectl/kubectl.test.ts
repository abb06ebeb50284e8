import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { comparedServer, type ContractServer, contractServers, START_TIMEOUT_MS } from '../servers.ts';
import { commands, type KubectlCommand } from './commands.ts';

const probe = spawnSync('kubectl', ['version', '--client'], { encoding: 'utf8' });
const [inMemory] = contractServers;
const isAvailable = probe.status === 0 && comparedServer.available;
const skipped = probe.status === 0 ? `skipped: ${comparedServer.name}` : 'skipped: kubectl is not installed';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** One of the servers, with a home directory for kubectl. */
interface Contestant {
  readonly server: ContractServer;
  readonly home: string;
}

it('are at least 100 commands', () => {
  expect(commands.length).toBeGreaterThanOrEqual(100);
});

describe.skipIf(!isAvailable)(`kubectl prints the same${isAvailable ? '' : ` (${skipped})`}`, () => {
  const contestants: Contestant[] = [];
  beforeAll(async () => {
    for (const kind of [inMemory!, comparedServer]) {
      const server = await kind.start();
      const home = await mkdtemp(join(tmpdir(), 'kubectl-home-'));
      await writeFile(join(home, 'kubeconfig'), kubeconfigOf(server), { mode: 0o600 });
      contestants.push({ server, home });
    }
  }, START_TIMEOUT_MS);
  afterAll(() =>
    Promise.all(
      contestants.map(async ({ server, home }) => {
        await server.stop();
        await rm(home, { recursive: true, force: true });
      }),
    ),
  );

  it.for(commands.map((command, i) => ({ ...command, i })))('$i $command', { timeout: 30_000 }, async (command) => {
    const [ours, theirs] = await Promise.all(contestants.map((contestant) => outcomeOf(command, contestant)));
    if (command.wordsDiffer === true) {
      const start = (outcome: Outcome | undefined) => ({ ...outcome, stderr: outcome?.stderr.split(':', 1)[0] });
      expect(start(ours)).toEqual(start(theirs));
      return;
    }
    if (command.refusal === undefined) {
      expect(ours).toEqual(theirs);
      return;
    }
    expect(ours?.code).not.toBe(0);
    expect(ours?.stderr).toContain(command.refusal);
  });
});

function kubeconfigOf({ url, caData, adminToken }: ContractServer): string {
  const name = 'test';
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server: url, 'certificate-authority-data': caData } }],
    users: [{ name, user: { token: adminToken } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
}

async function outcomeOf({ command, file }: KubectlCommand, { server, home }: Contestant): Promise<Outcome> {
  const path = join(home, 'object.json');
  if (file !== undefined) await writeFile(path, JSON.stringify(file));
  const words = command.split(' ').map((word) => (word === 'FILE' ? path : word.replaceAll('␣', ' ')));
  const env = { PATH: process.env['PATH'], HOME: home, KUBECONFIG: join(home, 'kubeconfig') };
  return new Promise((resolve) => {
    execFile('kubectl', words, { env, timeout: 25_000 }, (error, stdout, stderr) => {
      const clean = (text: string) => normalized(text.replaceAll(home, 'HOME').replaceAll(server.url, 'URL'));
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout: clean(stdout), stderr: clean(stderr) });
    });
  });
}

/**
 * Removes what differs between runs: times, ages, UIDs, resourceVersions and the width of columns, and the Event of a
 * kube-apiserver whose repair loop was faster than its own Service.
 */
function normalized(text: string): string {
  return text
    .replaceAll(/^.*(\bClusterIPNotAllocated\b|"kubernetes\.[0-9a-f]{16}" deleted).*\n/gm, '')
    .replaceAll(/20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replaceAll(/[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} 20[2-9]\d \d\d:\d\d:\d\d [+-]\d{4}/g, '<time>')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/(resourceVersion"?: )"\d+"/g, '$1<number>')
    .replaceAll(/\b\d+(ms|s|m|m\d+s|y\d*d?)(?=\s|$)/g, '<age>')
    .replaceAll(/(LIVE|MERGED)-\d+/g, '$1')
    .replaceAll(/ +/g, ' ');
}
