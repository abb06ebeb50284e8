import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createKubeTransport, type KubeTransport } from 'kubelet-status-manager/http';
import { brokenLinks } from './broken-links.ts';
import { emptyProjects, tryEmptyProject } from './empty-projects.ts';
import { type ReadmeExample, readmeExamples } from './readme-examples.ts';
import { RunningCommand, shellEnvironment } from './running-command.ts';

/*
 * `npm run stranger`: packs the package, installs it in empty projects (ESM, CommonJS, TypeScript),
 * checks the links in its documents, and does what the README says for each of its three examples, up
 * to the first status on the API server. Prints the time that each takes, and fails when one fails or
 * takes longer than two minutes.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const limitSeconds = 120;

interface PackageJSON {
  readonly exports: Readonly<Record<string, string | object>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

const { exports, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageJSON;
const work = mkdtempSync(join(tmpdir(), 'stranger-'));

function pack(): string {
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', work];
  return join(work, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim().split('\n').at(-1)!);
}

/** Follows one example; resolves when it has shown what it promises. */
async function follow({ commands, file, code }: ReadmeExample, tarball: string, folder: string): Promise<void> {
  mkdirSync(folder);
  writeFileSync(join(folder, file), code);
  const running: RunningCommand[] = [];
  try {
    for (const command of commands) {
      if (command.startsWith('npm install ')) {
        const line = command.replace('kubelet-status-manager', tarball).replace('npm install', 'npm install --silent');
        execFileSync(line, { cwd: folder, shell: '/bin/sh', stdio: 'inherit', env: shellEnvironment() });
        continue;
      }
      const process = new RunningCommand(command.replace(/&$/, ''), folder);
      running.push(process);
      if (command.includes('apiserver')) await process.untilPrinted('Listening at');
      else if (command.includes('--test')) await succeeded(process);
      else {
        await process.untilPrinted('node-a');
        await untilPodRuns(join(folder, 'kubeconfig'), process);
        const code = await process.stop();
        if (code !== 0) throw new Error(`Exited with ${code} after SIGTERM:\n${process.output}`);
      }
    }
  } finally {
    await Promise.all(running.map((process) => process.stop()));
  }
}

async function succeeded(process: RunningCommand): Promise<void> {
  const code = await process.exited();
  if (code !== 0) throw new Error(`Exited with ${code}:\n${process.output}`);
}

/** Creates the pod that the README creates with kubectl, and waits until its status is Running. */
async function untilPodRuns(kubeconfigFile: string, { output }: RunningCommand): Promise<void> {
  const transport = createKubeTransport(JSON.parse(readFileSync(kubeconfigFile, 'utf8')) as object);
  try {
    const path = '/api/v1/namespaces/default/pods';
    const spec = { nodeName: 'node-a', containers: [{ name: 'web', image: 'app:1' }] };
    await transport.request('POST', path, { body: { metadata: { name: 'web' }, spec } });
    const deadline = Date.now() + limitSeconds * 1_000;
    while ((await phaseOf(transport, `${path}/web`)) !== 'Running') {
      if (Date.now() > deadline) throw new Error(`The pod does not run:\n${output}`);
      await sleep(50);
    }
  } finally {
    await transport.close();
  }
}

async function phaseOf(transport: KubeTransport, path: string): Promise<string | undefined> {
  const pod = (await transport.request('GET', path)).json() as { status?: { phase?: string } };
  return pod.status?.phase;
}

async function timed(title: string, run: () => void | Promise<void>): Promise<boolean> {
  const startedMs = Date.now();
  try {
    await run();
  } catch (error) {
    console.error(`FAILED  ${title}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
  const seconds = (Date.now() - startedMs) / 1_000;
  console.log(`${seconds.toFixed(1).padStart(6)} s  ${title}`);
  return seconds <= limitSeconds;
}

try {
  console.log(`Node.js ${process.version}`);
  const tarball = pack();
  const results: boolean[] = [];
  const subpaths = Object.keys(exports).filter((subpath) => typeof exports[subpath] === 'object');
  for (const project of emptyProjects(subpaths, (name) => devDependencies[name]!)) {
    const run = (): void => tryEmptyProject(project, tarball, join(work, project.name));
    results.push(await timed(`an empty ${project.name} project`, run));
  }
  const broken = brokenLinks(join(work, 'ESM', 'node_modules', 'kubelet-status-manager'));
  if (broken.length > 0) throw new Error(`Links to files that the package does not contain:\n${broken.join('\n')}`);
  const examples = readmeExamples(readFileSync(join(root, 'README.md'), 'utf8'));
  if (examples.length !== 3) throw new Error(`Expected three examples in README.md, found ${examples.length}`);
  for (const [i, example] of examples.entries()) {
    const run = (): Promise<void> => follow(example, tarball, join(work, `example-${i}`));
    results.push(await timed(`from npm install to the first status: ${example.title}`, run));
  }
  if (results.includes(false)) process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
