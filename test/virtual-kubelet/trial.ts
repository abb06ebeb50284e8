import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Pod, PodStatus } from 'kubelet-status-manager';
import type { ControlPlane } from '../support/control-plane.ts';
import type { Json, KubeHTTP, KubeResponse, WatchStream } from '../support/kube-http.ts';
import { APIProxy } from './api-proxy.ts';
import { Cloud } from './cloud.ts';
import { NodeProcess, type Side } from './side.ts';

/** What was not as the scenario expects. */
export class Failure extends Error {}

const pollMs = 250;

/** One run of a scenario on one side: a namespace, a node and a cloud of its own. */
export class Trial implements AsyncDisposable {
  readonly cloud: Cloud;
  readonly api: APIProxy;
  readonly process: NodeProcess;
  /** Of the namespace, too. */
  readonly nodeName: string;
  readonly http: KubeHTTP;

  static async create(side: Side, name: string, { controlPlane, http, folder }: TrialSetting): Promise<Trial> {
    const nodeName = `${name}-${side.of}-${side.mode}`;
    const [cloud, api] = [await Cloud.start(), await APIProxy.start(controlPlane)];
    const setting = { nodeName, cloudURL: cloud.url, kubeConfig: api.kubeConfig };
    const process = await NodeProcess.create(side, setting, join(folder, nodeName));
    const trial = new Trial(nodeName, http, cloud, api, process);
    try {
      await trial.request('POST', '/api/v1/namespaces', { metadata: { name: nodeName } });
      await process.start();
    } catch (error) {
      await trial[Symbol.asyncDispose]();
      throw error;
    }
    return trial;
  }

  private constructor(nodeName: string, http: KubeHTTP, cloud: Cloud, api: APIProxy, process: NodeProcess) {
    this.nodeName = nodeName;
    this.http = http;
    this.cloud = cloud;
    this.api = api;
    this.process = process;
  }

  /** Rejects for error statuses. */
  async request(method: string, path: string, body?: Json, contentType?: string): Promise<Json> {
    const response = await this.http.request(method, path, { body, ...(contentType && { contentType }) });
    if (response.status >= 300)
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(response.body)}`);
    return response.body;
  }

  /** Resolves with the UID. */
  async createPod(name: string, spec: object = {}): Promise<string> {
    const { metadata } = await this.request('POST', this.#path(), {
      metadata: { name, labels: { version: '1' } },
      spec: {
        nodeName: this.nodeName,
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: 60,
        containers: [{ name: 'app', image: 'app:1' }],
        ...spec,
      },
    });
    return metadata.uid;
  }

  /** Resolves with the UID when the pod is shown as running and ready. */
  async runPod(name: string, spec?: object): Promise<string> {
    const uid = await this.createPod(name, spec);
    await this.becomesReady(name);
    return uid;
  }

  /** Undefined if there is none. */
  async pod(name: string): Promise<Pod | undefined> {
    const { status, body }: KubeResponse = await this.http.request('GET', this.#path(name));
    return status === 404 ? undefined : body;
  }

  async status(name: string): Promise<PodStatus> {
    return ((await this.pod(name))?.status ?? {}) as PodStatus;
  }

  async deletePod(name: string, gracePeriodSeconds?: number): Promise<void> {
    await this.request('DELETE', this.#path(name), { ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) });
  }

  async patchPod(name: string, patch: object, subresource = ''): Promise<void> {
    await this.request('PATCH', this.#path(name) + subresource, patch, 'application/strategic-merge-patch+json');
  }

  /** Of the namespace, with the pods that exist. */
  watchPods(): Promise<WatchStream> {
    return this.http.watch(`${this.#path()}?watch=true`);
  }

  async isNodeReady(): Promise<boolean> {
    const { status, body } = await this.http.request('GET', `/api/v1/nodes/${this.nodeName}`);
    const conditions: Json[] = (status === 200 && body.status.conditions) || [];
    return conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
  }

  async becomesReady(name: string, seconds = 30): Promise<void> {
    await this.becomes(seconds, async () => {
      const status = await this.status(name);
      if (status.phase !== 'Running') return `${name} is ${describe(status)}`;
      const isReady = status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      return isReady === true ? undefined : `${name} is Running and not ready`;
    });
  }

  async becomesGone(name: string, seconds: number): Promise<void> {
    await this.becomes(seconds, async () => {
      const pod = await this.pod(name);
      return pod === undefined ? undefined : 'still on the API server';
    });
  }

  /** The cloud has stopped all pods with this name. */
  async becomesFree(name: string, seconds: number): Promise<void> {
    await this.becomes(seconds, () =>
      this.cloud.pods.some((pod) => pod.name === name) ? 'still runs in the cloud' : undefined,
    );
  }

  /** Fails with what the check says after these seconds; undefined means that it holds. */
  async becomes(seconds: number, check: () => Promise<string | undefined> | string | undefined): Promise<void> {
    const endMs = Date.now() + seconds * 1000;
    for (;;) {
      const seen = await check();
      if (seen === undefined) return;
      if (Date.now() > endMs) throw new Failure(`${seen} after ${seconds} s`);
      await delay(pollMs);
    }
  }

  /** Fails as soon as the check says something. */
  async stays(seconds: number, check: () => Promise<string | undefined> | string | undefined): Promise<void> {
    const endMs = Date.now() + seconds * 1000;
    while (Date.now() < endMs) {
      const seen = await check();
      if (seen !== undefined) throw new Failure(seen);
      await delay(pollMs);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.process.kill();
    await this.api.close();
    await this.cloud.close();
  }

  #path(name?: string): string {
    return `/api/v1/namespaces/${this.nodeName}/pods${name === undefined ? '' : `/${name}`}`;
  }
}

/** What all trials share. */
export interface TrialSetting {
  readonly controlPlane: ControlPlane;
  /** As an administrator, past the proxy. */
  readonly http: KubeHTTP;
  readonly folder: string;
}

/** `Failed (ProviderFailed)`. */
export function describe({ phase = 'without a status', reason, containerStatuses }: PodStatus): string {
  const exitCode = containerStatuses?.[0]?.state?.terminated?.exitCode;
  const details = [reason, exitCode !== undefined && `exit code ${exitCode}`].filter(Boolean).join(', ');
  return details === '' ? phase : `${phase} (${details})`;
}
