import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import {
  type PodProvider,
  type ProviderContainer,
  ProviderError,
  type ProviderPod,
  type ProviderPodReference,
} from 'kubelet-status-manager/virtual-nodes';

type Exit = NonNullable<ProviderContainer['exit']>;

type Environment = Readonly<Record<string, string | undefined>>;

/** One run of a pod: a process group for each container. */
interface Run extends ProviderPodReference {
  readonly restartCount: number;
  readonly podHash: string;
  readonly startedAt: Date;
  readonly processes: ReadonlyMap<string, ChildProcess>;
  /** By the name of the container. */
  readonly environments: ReadonlyMap<string, Environment>;
  /** By the name of the container. */
  readonly exits: Map<string, Exit>;
  isDeleted: boolean;
}

/**
 * Runs the containers of pods as child processes of this process' user, without its environment. With `restarts: 'node'`, it only reports that
 * a pod has stopped: the virtual node calls `createPod` again for the next run, after the kubelet's back-off.
 */
export class ProcessProvider implements PodProvider {
  readonly capabilities = { restarts: 'node', probes: 'node' } as const;
  /** The last run of each pod, by UID. */
  readonly #runs = new Map<string, Run>();
  #listener = (_pod: ProviderPod): void => {};

  createPod: PodProvider['createPod'] = async ({ metadata, spec }, { restartCount, podHash, materials, signal }) => {
    const { containers } = await materials();
    signal.throwIfAborted();
    const { uid, namespace, name } = metadata;
    // The call is repeated when its result is not known; a lower count is late.
    if ((this.#runs.get(uid)?.restartCount ?? -1) >= restartCount) return;
    for (const [containerName, { command, args }] of containers)
      if (command.length + args.length === 0)
        throw new ProviderError(`container ${containerName} has no command`, { permanent: true, reason: 'NoCommand' });
    const parts: (undefined | { readonly securityContext?: object | undefined })[] = [
      spec,
      ...(spec?.containers ?? []),
    ];
    for (const part of parts)
      if (Object.keys(part?.securityContext ?? {}).length > 0)
        throw new ProviderError('a process cannot have a securityContext', { permanent: true, reason: 'NotIsolated' });
    const [processes, environments] = [new Map<string, ChildProcess>(), new Map<string, Environment>()];
    for (const [containerName, { command, args, env }] of containers) {
      const environment = environmentOf(env);
      environments.set(containerName, environment);
      try {
        processes.set(containerName, start([...command, ...args], environment));
      } catch {
        for (const child of processes.values()) kill(child, 'SIGKILL');
        // Without the cause, which may quote a variable.
        throw new ProviderError(`container ${containerName} cannot be started`, { permanent: true });
      }
    }
    const reference = { uid, namespace, name, nodeName: spec?.nodeName ?? '' };
    const run: Run = {
      ...{ ...reference, restartCount, podHash, processes, environments },
      ...{ startedAt: new Date(), exits: new Map(), isDeleted: false },
    };
    this.#runs.set(uid, run);
    for (const [containerName, child] of processes) {
      const ended = (exit: Omit<Exit, 'finishedAt'>): void => {
        run.exits.set(containerName, { ...exit, finishedAt: new Date() });
        this.#changed(run);
      };
      child.once('error', ({ message }) => ended({ exitCode: 127, reason: 'StartError', message }));
      child.once('exit', (code, signalName) => ended({ exitCode: code ?? 128 + constants.signals[signalName!] }));
    }
    this.#changed(run);
  };

  deletePod: PodProvider['deletePod'] = async ({ uid }, { gracePeriodSeconds }) => {
    const run = this.#runs.get(uid);
    if (run === undefined) return;
    run.isDeleted = true;
    stop(run, gracePeriodSeconds);
    this.#changed(run);
  };

  /** Stops the whole pod: only then does the virtual node start it again. */
  killContainer: NonNullable<PodProvider['killContainer']> = async (
    { uid },
    _containerName,
    { restartCount, gracePeriodSeconds },
  ) => {
    const run = this.#runs.get(uid);
    if (run?.restartCount === restartCount) stop(run, gracePeriodSeconds);
  };

  exec: NonNullable<PodProvider['exec']> = async ({ uid }, name, [program = '', ...args], io, { signal }) => {
    const run = this.#runs.get(uid);
    if (!run?.processes.has(name) || run.exits.has(name)) throw new ProviderError(`${name} does not run`);
    const env = run.environments.get(name)!;
    const child = spawn(program, args, { env, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of ['stdout', 'stderr'] as const) {
      const to = io[stream];
      if (to === undefined) child[stream].resume();
      else child[stream].pipe(to, { end: false });
    }
    return new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code) => resolve(code ?? 1));
    });
  };

  listPods: PodProvider['listPods'] = async () => [...this.#runs.values()].map(reported);

  notifyPods: NonNullable<PodProvider['notifyPods']> = (listener) => {
    this.#listener = listener;
    return () => (this.#listener = () => {});
  };

  /** Ends all processes. */
  close(): void {
    for (const run of this.#runs.values()) stop(run, 0);
  }

  #changed(run: Run): void {
    if (this.#runs.get(run.uid) !== run) return;
    this.#listener(reported(run));
    if (run.isDeleted && hasStopped(run)) this.#runs.delete(run.uid);
  }
}

/** Not the environment of this process, which may have its credentials. */
function environmentOf(env: readonly { readonly name: string; readonly value: string }[]): Environment {
  return { PATH: process.env['PATH'], ...Object.fromEntries(env.map(({ name, value }) => [name, value])) };
}

/** Starts a process group, which ends with its first process. @throws Error for a null byte, or too long arguments */
function start([program = '', ...args]: readonly string[], env: Environment): ChildProcess {
  const child = spawn(program, args, { env, detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
  child.on('error', () => {}); // reported by its run, if it has one
  child.once('exit', () => kill(child, 'SIGKILL'));
  return child;
}

function kill({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal);
  } catch {} // it has ended
}

function stop({ processes, exits }: Run, gracePeriodSeconds: number): void {
  for (const [name, child] of processes) {
    if (exits.has(name)) continue;
    kill(child, gracePeriodSeconds > 0 ? 'SIGTERM' : 'SIGKILL');
    const timer = setTimeout(() => kill(child, 'SIGKILL'), Math.min(gracePeriodSeconds * 1000, 2 ** 31 - 1));
    child.once('exit', () => clearTimeout(timer));
  }
}

function hasStopped({ processes, exits }: Run): boolean {
  return exits.size === processes.size;
}

function reported(run: Run): ProviderPod {
  const { uid, namespace, name, nodeName, restartCount, podHash, startedAt, processes, exits } = run;
  return {
    ...{ uid, namespace, name, nodeName, restartCount, podHash, startedAt, ips: ['127.0.0.1'] },
    state: hasStopped(run) ? 'stopped' : 'running',
    containers: [...processes.keys()].map((container) => ({ name: container, exit: exits.get(container) })),
  };
}
