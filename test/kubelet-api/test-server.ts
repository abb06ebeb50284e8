import { readFileSync } from 'node:fs';
import { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { fileURLToPath } from 'node:url';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import type { NodeAgent } from '../../src/agent/node-agent/node-agent.ts';
import type { NodeAgentInspection } from '../../src/agent/node-agent/node-agent-inspection.ts';
import type { APIRequests } from '../../src/kube/client/api-requests.ts';
import type { ValidPod } from '../../src/kube/objects/types.ts';
import type { KubeletAPIOptions } from '../../src/kubelet-api/kubelet-api-options.ts';
import type { KubeletAPINode } from '../../src/kubelet-api/kubelet-api-context.ts';
import { type KubeletAPIServer, serveKubeletAPI } from '../../src/kubelet-api/serve-kubelet-api.ts';

export const certificateFile = (name: string): string =>
  fileURLToPath(new URL(`../kube/http/testdata/test-only-${name}.pem`, import.meta.url));

/** Of another authority. */
export const otherCertificate = 'other';

const filesOf = (name: string): { readonly cert: Buffer; readonly key: Buffer } => {
  const other = (part: string): URL => new URL(`../support/testdata/test-only-tls-${part}.pem`, import.meta.url);
  const [cert, key] =
    name === otherCertificate ? [other('cert'), other('key')] : [certificateFile(name), certificateFile(`${name}.key`)];
  return { cert: readFileSync(cert), key: readFileSync(key) };
};

type Review = { readonly kind: string; readonly spec: Readonly<Record<string, unknown>> };

/** The reviews of an API server: `tokens` are its users, and `allows` says who may do what. */
class Reviews implements APIRequests {
  readonly tokens = new Map<string, object>([['admin-token', { username: 'admin', groups: ['system:masters'] }]]);
  readonly requests: Review[] = [];
  allows: (spec: Readonly<Record<string, never>>) => boolean = ({ user }) => user === ('admin' as never);
  failure: Error | undefined;
  #held: Promise<void> | undefined;

  /** Reviews do not end until the result is called. */
  hold(): () => void {
    let release = (): void => {};
    this.#held = new Promise((resolve) => (release = resolve));
    return release;
  }

  async request(
    _method: string,
    _path: string,
    { body }: { readonly body?: unknown } = {},
  ): Promise<{ json(): unknown }> {
    const { kind, spec } = body as Review;
    this.requests.push({ kind, spec });
    await this.#held;
    if (this.failure !== undefined) throw this.failure;
    const user = this.tokens.get(spec['token'] as string);
    const status =
      kind === 'TokenReview'
        ? { authenticated: user !== undefined, user }
        : { allowed: this.allows(spec as Readonly<Record<string, never>>) };
    return { json: () => ({ kind, status }) };
  }

  of(kind: string): readonly Review['spec'][] {
    return this.requests.filter((one) => one.kind === kind).map(({ spec }) => spec);
  }
}

export interface Reply {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
}

interface RequestOptions {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** The name of a client certificate. */
  readonly certificate?: string;
  /** The connections to use. Default: a new one. */
  readonly agent?: Agent | false;
}

interface TestedNode {
  /** Whether the agent has one. Default: true. */
  readonly apiServer?: boolean;
  readonly isShared?: boolean;
  /** In place of the agent. */
  readonly served?: KubeletAPINode;
}

/** A kubelet API over an agent with `pods`, and a client of it. */
export class TestServer implements AsyncDisposable {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly logger = recordingLogger();
  readonly reviews = new Reviews();
  readonly pods: ValidPod[] = [];
  readonly ports: number[] = [];
  /** UID → what the status manager has. */
  readonly statuses = new Map<string, object>();
  features: readonly string[] = [];
  #server: KubeletAPIServer | undefined;

  static async start(
    options: Partial<KubeletAPIOptions> = {},
    { apiServer = true, isShared = false, served }: TestedNode = {},
  ): Promise<TestServer> {
    const test = new TestServer();
    const agent = {
      nodeName: 'node-a',
      isShared,
      apiRequests: apiServer ? test.reviews : undefined,
      getPods: () => test.pods,
      inspect: () => ({ state: 'running', syncLoop: {} }) as NodeAgentInspection,
      setKubeletEndpoint: (port: number, features: readonly string[]) => {
        test.ports.push(port);
        test.features = features;
      },
      statusManager: { getPodStatus: (uid: string) => test.statuses.get(uid) },
    };
    test.#server = await serveKubeletAPI(served ?? (agent as unknown as NodeAgent), {
      host: '127.0.0.1',
      port: 0,
      tlsCertFile: certificateFile('server'),
      tlsPrivateKeyFile: certificateFile('server.key'),
      logger: test.logger,
      clock: test.clock,
      runtime: {
        listPods: async () => [],
        getPod: async () => undefined,
        execSync: async () => ({ exitCode: 0, stdout: '', stderr: '' }),
      },
      ...options,
      // Without one, a warning at start.
      authentication: { clientCAFile: certificateFile('ca'), ...options.authentication },
    });
    return test;
  }

  get url(): string {
    return this.#server!.url;
  }

  get port(): number {
    return this.#server!.port;
  }

  /** As an administrator, unless `token` says otherwise. */
  async get(path: string, options: RequestOptions = {}): Promise<Reply> {
    const request = this.request(path, { token: 'admin-token', ...options });
    return new Promise((resolve, reject) => {
      request.once('error', reject);
      request.once('response', (response: IncomingMessage) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.once('end', () => resolve({ status: response.statusCode!, text, headers: response.headers }));
        response.once('error', reject);
      });
      request.end();
    });
  }

  request(
    path: string,
    { method = 'GET', token, headers, certificate, agent = false }: RequestOptions,
  ): ReturnType<typeof httpsRequest> {
    return httpsRequest({
      ...{ host: '127.0.0.1', port: this.port, path, method, agent, rejectUnauthorized: false },
      headers: { ...(token !== undefined && { authorization: `Bearer ${token}` }), ...headers },
      ...(certificate !== undefined && filesOf(certificate)),
    });
  }

  close(): Promise<void> {
    return this.#server!.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function testPod(name: string, status: object = {}): ValidPod {
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
    status,
  };
}
