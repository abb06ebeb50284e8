import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

/** What a provider asks for. */
export interface AskedPod {
  readonly namespace: string;
  readonly name: string;
  readonly nodeName: string;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** Kept for the provider. */
  readonly pod?: unknown;
  /** The files of its volumes, by path. */
  readonly files?: Readonly<Record<string, string>> | undefined;
}

/** A pod as the cloud reports it. Times are those of `Date.now()`. */
export interface CloudPod extends AskedPod {
  readonly uid: string;
  readonly createdAtMs: number;
  readonly state: 'creating' | 'running' | 'stopped';
  readonly startedAtMs?: number;
  readonly stoppedAtMs?: number;
  readonly exitCode?: number;
}

type CallName = 'createPod' | 'deletePod' | 'listPods' | 'updatePod';

const callNames: Readonly<Record<string, CallName>> = {
  POST: 'createPod',
  PUT: 'updatePod',
  DELETE: 'deletePod',
  GET: 'listPods',
};

/**
 * A cloud as an HTTP server, whose pods have their UIDs as identity. It runs what it is asked for, and remembers a
 * pod that has stopped for some seconds.
 */
export class Cloud {
  /** `createPod web`, in the order of arrival. */
  readonly calls: string[] = [];
  /** Names of pods that lists leave out. */
  readonly hidden = new Set<string>();
  /** Returns the status with which a call fails, or undefined. */
  react: (call: CallName, name: string) => number | undefined = () => undefined;
  /** From the effect of createPod to its answer. */
  createAnswerMs = 0;
  /** From createPod until the pod runs. */
  startMs = 300;
  /** From deletePod until the pod has stopped; with 0 it has before the answer. */
  stopMs = 300;
  /** How long a pod that has stopped is listed. */
  rememberMs = 10_000;
  /** Of pods that are deleted. */
  deletedExitCode = 0;
  readonly #pods = new Map<string, CloudPod>();
  readonly #watchers = new Set<ServerResponse>();
  readonly #end = new AbortController();
  readonly #server: Server;

  static async start(): Promise<Cloud> {
    const cloud = new Cloud();
    await once(cloud.#server.listen(0, '127.0.0.1'), 'listening');
    return cloud;
  }

  private constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Those that have not stopped. */
  get pods(): readonly CloudPod[] {
    return [...this.#pods.values()].filter(({ state }) => state !== 'stopped');
  }

  /** How often this call was made for pods with this name. */
  count(call: CallName, name: string): number {
    return this.calls.filter((made) => made === `${call} ${name}`).length;
  }

  stop(uid: string, exitCode: number): void {
    this.#change(uid, { state: 'stopped', stoppedAtMs: Date.now(), exitCode });
    this.#later(this.rememberMs, () => this.#pods.delete(uid));
  }

  async close(): Promise<void> {
    this.#end.abort();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** `/events`, `/pods` or `/pods/UID`. */
  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, kind, uid = ''] = (request.url ?? '').split('/');
    if (kind === 'events') {
      response.writeHead(200).flushHeaders();
      this.#watchers.add(response);
      response.on('error', () => {}).once('close', () => this.#watchers.delete(response));
      return;
    }
    const asked =
      request.method === 'POST' || request.method === 'PUT' ? ((await json(request)) as AskedPod) : undefined;
    const call = callNames[request.method ?? '']!;
    const name = asked?.name ?? this.#pods.get(uid)?.name ?? '';
    this.calls.push(`${call} ${name}`.trim());
    const failure = this.react(call, name);
    const [status, body] = failure === undefined ? this.#call(call, uid, asked) : [failure, undefined];
    if (call === 'createPod' && failure === undefined) await delay(this.createAnswerMs);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body ?? {}));
  }

  #call(call: CallName, uid: string, asked: AskedPod | undefined): [status: number, body?: unknown] {
    if (call === 'listPods') return [200, [...this.#pods.values()].filter(({ name }) => !this.hidden.has(name))];
    const pod = this.#pods.get(uid);
    if (call === 'createPod' && pod === undefined) this.#create(uid, asked!);
    if (call === 'createPod') return [200];
    if (pod === undefined) return [404];
    if (call === 'updatePod') this.#change(uid, asked!);
    else if (pod.state !== 'stopped') this.#later(this.stopMs, () => this.stop(uid, this.deletedExitCode));
    return [200];
  }

  #create(uid: string, asked: AskedPod): void {
    this.#pods.set(uid, { ...asked, uid, createdAtMs: Date.now(), state: 'creating' });
    this.#change(uid, {});
    this.#later(this.startMs, () => {
      if (this.#pods.get(uid)?.state === 'creating') this.#change(uid, { state: 'running', startedAtMs: Date.now() });
    });
  }

  #change(uid: string, change: Partial<CloudPod>): void {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return;
    const changed = { ...pod, ...change };
    this.#pods.set(uid, changed);
    for (const watcher of this.#watchers) watcher.write(`${JSON.stringify(changed)}\n`);
  }

  #later(ms: number, run: () => void): void {
    if (ms === 0) return run();
    void delay(ms, undefined, { signal: this.#end.signal }).then(run, () => {});
  }
}
