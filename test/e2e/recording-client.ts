import type { PodClient } from '../../src/kube/client/pod-client.ts';

export interface RecordedRequest {
  readonly verb: 'get' | 'patch' | 'delete';
  readonly name: string;
  /** The UID that a PATCH or DELETE has as its precondition. */
  readonly uid: string | undefined;
  /** The HTTP status of the response: 200, or that of the error. Undefined without a response. */
  readonly status: number | undefined;
}

/** Forwards requests to a real client, records their results, and can hold one back. */
export class RecordingClient implements PodClient {
  readonly requests: RecordedRequest[] = [];
  readonly #client: PodClient;
  #gate: { readonly reached: () => void; readonly opened: Promise<void> } | undefined;

  constructor(client: PodClient) {
    this.#client = client;
  }

  /** Holds the next PATCH back: `reached` resolves when it is about to be sent, and `open` sends it. */
  holdNextPatch(): { readonly reached: Promise<void>; readonly open: () => void } {
    const reached = signal();
    const opened = signal();
    this.#gate = { reached: reached.give, opened: opened.given };
    return { reached: reached.given, open: opened.give };
  }

  /** The verbs of the requests for a pod of this name, in order of their responses. */
  verbsFor(name: string): string[] {
    return this.requests.filter((request) => request.name === name).map(({ verb }) => verb);
  }

  getPod: PodClient['getPod'] = (pod, options) =>
    this.#record('get', pod.name, undefined, this.#client.getPod(pod, options));

  patchPodStatus: PodClient['patchPodStatus'] = async (pod, patch, options) => {
    const gate = this.#gate;
    this.#gate = undefined;
    gate?.reached();
    await gate?.opened;
    const uid = 'metadata' in patch.body ? patch.body.metadata.uid : undefined;
    return this.#record('patch', pod.name, uid, this.#client.patchPodStatus(pod, patch, options));
  };

  deletePod: PodClient['deletePod'] = (pod, preconditions, options) =>
    this.#record('delete', pod.name, preconditions.uid, this.#client.deletePod(pod, preconditions, options));

  async #record<Result>(
    verb: RecordedRequest['verb'],
    name: string,
    uid: string | undefined,
    request: Promise<Result>,
  ): Promise<Result> {
    let status: number | undefined = 200;
    try {
      return await request;
    } catch (error) {
      ({ statusCode: status } = error as { statusCode?: number });
      throw error;
    } finally {
      this.requests.push({ verb, name, uid, status });
    }
  }
}

/** `Promise.withResolvers`, which Node 20 does not have. */
function signal(): { readonly given: Promise<void>; readonly give: () => void } {
  let give = (): void => {};
  const given = new Promise<void>((resolve) => {
    give = resolve;
  });
  return { given, give };
}
