import { spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { signal as sendSignal } from '../support/node/processes.ts';
import { type GinkgoReport, readGinkgoReport, type SpecResult } from './ginkgo-report.ts';

export interface GinkgoRun {
  /** The folder with `ginkgo`, `e2e.test` and `kubectl`. */
  readonly programs: string;
  /** Of an administrator. */
  readonly kubeconfig: string;
  /** A spec runs whose full name matches one of these… */
  readonly focus: readonly string[];
  /** …and none of these. Go's regular expressions. */
  readonly skip?: readonly string[];
  readonly processes: number;
  readonly timeoutMinutes: number;
  /** Where the report and the output are written. */
  readonly folder: string;
  /** Ends the specs at once; their namespaces stay. */
  readonly signal: AbortSignal;
  /** Called with the output as it comes. */
  onOutput(text: string): void;
}

/** Runs Kubernetes' e2e tests. @throws Error if Ginkgo has written no report */
export async function runGinkgo(run: GinkgoRun): Promise<SpecResult[]> {
  const { programs, folder, kubeconfig, signal } = run;
  signal.throwIfAborted();
  const log = path.join(folder, 'ginkgo.log');
  const child = spawn(path.join(programs, 'ginkgo'), argumentsOf(run), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: kubeconfig },
    // In a process group of its own: a signal must reach each of its processes.
    detached: true,
  });
  const interrupt = (): void => sendSignal(-child.pid!, 'SIGKILL');
  signal.addEventListener('abort', interrupt, { once: true });
  const output = createWriteStream(log);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false });
  child.stdout.setEncoding('utf8').on('data', run.onOutput);
  await new Promise<void>((resolve, reject) => child.once('error', reject).once('close', () => resolve()));
  signal.removeEventListener('abort', interrupt);
  output.end();
  try {
    return readGinkgoReport(JSON.parse(await readFile(path.join(folder, 'report.json'), 'utf8')) as GinkgoReport[]);
  } catch (error) {
    throw new Error(`Ginkgo has written no report: see ${log}`, { cause: error });
  }
}

function argumentsOf(run: GinkgoRun): string[] {
  return [
    'run',
    '--no-color',
    `--procs=${run.processes}`,
    `--timeout=${run.timeoutMinutes}m`,
    ...run.focus.map((pattern) => `--focus=${pattern}`),
    ...(run.skip ?? []).map((pattern) => `--skip=${pattern}`),
    '--json-report=report.json',
    `--output-dir=${run.folder}`,
    path.join(run.programs, 'e2e.test'),
    '--',
    '--provider=skeleton',
    `--kubeconfig=${run.kubeconfig}`,
    `--kubectl-path=${path.join(run.programs, 'kubectl')}`,
    '--allowed-not-ready-nodes=5',
    '--num-nodes=1',
    '--dns-domain=cluster.local',
    '--disable-log-dump',
  ];
}
