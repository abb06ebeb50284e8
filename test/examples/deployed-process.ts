import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../support/control-plane.ts';
import type { Json } from '../support/kube-http.ts';

/** A container of a Deployment, as far as it is read here. */
export interface DeployedContainer {
  readonly env: readonly { readonly name: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly readinessProbe: HTTPProbe;
  readonly livenessProbe: HTTPProbe;
}

interface HTTPProbe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly timeoutSeconds: number;
}

/** A probe passes with the status code 200; `text` has the reasons otherwise. */
interface ProbeResult {
  readonly status: number;
  readonly text: string;
}

const livenessPeriodMs = 1000;

/** A process with the environment and the probes of a Deployment's container, in place of the container. */
export class DeployedProcess {
  readonly identity: string;
  /** Liveness probes that have failed, from the first one that passed until the process was told to end. */
  readonly livenessFailures: string[] = [];
  readonly #container: DeployedContainer;
  readonly #healthURL: string;
  readonly #child: ChildProcess;
  readonly #ending = new AbortController();

  private constructor(container: DeployedContainer, identity: string, healthURL: string, child: ChildProcess) {
    this.identity = identity;
    this.#container = container;
    this.#healthURL = healthURL;
    this.#child = child;
    void this.#watchLiveness();
  }

  /**
   * @param values of the variables that the container names, besides IDENTITY and the ports
   * @param more variables that the container does not need, because it has a service account
   */
  static async start(
    program: string,
    container: DeployedContainer,
    identity: string,
    values: Readonly<Record<string, string>>,
    more: Readonly<Record<string, string>>,
  ): Promise<DeployedProcess> {
    const [healthPort] = await freePorts(1, '0.0.0.0');
    const all: Record<string, string> = { ...values, IDENTITY: identity, PORT: '0', HEALTH_PORT: String(healthPort) };
    const env = { ...more, ...Object.fromEntries(container.env.map(({ name }) => [name, all[name]])) };
    const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'inherit', 'inherit'] });
    return new DeployedProcess(container, identity, `http://127.0.0.1:${healthPort}`, child);
  }

  async probe(name: 'livenessProbe' | 'readinessProbe'): Promise<ProbeResult> {
    const { httpGet, timeoutSeconds } = this.#container[name];
    const isServed = this.#container.ports.some((port) => port.name === httpGet.port);
    if (!isServed) throw new Error(`The container has no port ${httpGet.port}`);
    return this.get(httpGet.path, timeoutSeconds * 1000);
  }

  /** What the port `health` answers. */
  async get(path: string, timeoutMs = 10_000): Promise<ProbeResult> {
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null)
      throw new Error(`${this.identity} has ended: ${exitCode ?? signalCode}`);
    const response = await fetch(`${this.#healthURL}${path}`, { signal: AbortSignal.timeout(timeoutMs) });
    return { status: response.status, text: await response.text() };
  }

  /** The rows of the status page. */
  async nodes(): Promise<readonly Json[]> {
    return JSON.parse((await this.get('/statusz/pods.json')).text).nodes;
  }

  /** Resolves with the exit code and the signal, when the process has ended. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<unknown[]> {
    this.#ending.abort();
    const { exitCode, signalCode } = this.#child;
    if (exitCode !== null || signalCode !== null) return [exitCode, signalCode];
    this.#child.kill(signal);
    return once(this.#child, 'exit');
  }

  async #watchLiveness(): Promise<void> {
    let hasPassed = false;
    while (!this.#ending.signal.aborted) {
      const result = await this.probe('livenessProbe').catch((error: unknown) => ({ status: 0, text: String(error) }));
      if (result.status === 200) hasPassed = true;
      else if (hasPassed && !this.#ending.signal.aborted) this.livenessFailures.push(result.text);
      await delay(livenessPeriodMs, undefined, { signal: this.#ending.signal }).catch(() => {});
    }
  }
}
