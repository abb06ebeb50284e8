import {
  type CallOptions,
  type ImagePullSecret,
  parseImageName,
  type PulledImage,
  type RuntimeHelper,
  type RuntimeImage,
  ImageError,
} from '../node/index.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { ReadCache } from '../shared/read-cache.ts';
import { withGoMessage, CRIError } from './cri-error.ts';
import type { CRIConnection } from './cri-connection.ts';
import type { CRIMessage, CRIRequest } from './cri-messages.ts';
import type { ImageUser } from './security-context.ts';

export interface CRIImagesOptions {
  readonly client: CRIConnection;
  readonly helper: Pick<RuntimeHelper, 'pullCredentials'>;
  readonly sandboxConfig: (pod: ValidPod) => Promise<CRIRequest<'PodSandboxConfig'>>;
}

/** The images of a runtime. Source: CRI `ImageService`. */
export class CRIImages {
  readonly #options: CRIImagesOptions;
  /** By image ID, which is a digest of the image's configuration. */
  readonly #users = new ReadCache<ImageUser>();

  constructor(options: CRIImagesOptions) {
    this.#options = options;
  }

  async imageRef(image: string, { signal }: CallOptions = {}): Promise<string | undefined> {
    parseImageName(image);
    return (await withGoMessage(this.#status(image, signal)))?.id || undefined;
  }

  async pullImage(image: string, pod: ValidPod, { signal }: CallOptions = {}): Promise<PulledImage> {
    parseImageName(image);
    return this.#pull(image, pod, signal);
  }

  async imagePullSecrets(image: string, pod: ValidPod): Promise<readonly ImagePullSecret[]> {
    const { credentials } = await this.#options.helper.pullCredentials(pod, image);
    return credentials.flatMap(({ secret }) => secret ?? []);
  }

  async listImages({ signal }: CallOptions = {}): Promise<readonly RuntimeImage[]> {
    const since = this.#users.begin();
    const { images } = await this.#options.client.call('ListImages', {}, { signal });
    const ids = new Set(images.map(({ id }) => id));
    this.#users.prune((id) => ids.has(id), since);
    return images.map(({ id, repo_tags: tags, repo_digests: digests, size, pinned }) => {
      return { id, names: [...tags, ...digests], sizeBytes: size, pinned };
    });
  }

  async removeImage(imageID: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#options.client.call('RemoveImage', { image: { image: imageID } }, { signal });
  }

  /**
   * The user that an image's containers run as. Cached since `imageRef` returned this reference.
   * Source: kubelet `getImageUser`.
   */
  async imageUser(imageRef: string, signal: AbortSignal | undefined): Promise<ImageUser> {
    return this.#users.get(imageRef) ?? userOf(await this.#status(imageRef, signal));
  }

  async #status(image: string, signal: AbortSignal | undefined): Promise<CRIMessage<'Image'> | undefined> {
    const since = this.#users.begin();
    const { image: status } = await this.#options.client.call('ImageStatus', { image: { image } }, { signal });
    if (!status) return undefined;
    this.#users.store(status.id, userOf(status), since);
    return status;
  }

  /** Source: kubelet `pullImage`, which tries the credentials one after the other. */
  async #pull(image: string, pod: ValidPod, signal: AbortSignal | undefined): Promise<PulledImage> {
    const { credentials, missingSecrets } = await this.#options.helper.pullCredentials(pod, image);
    const errors: Error[] = [];
    for (const tried of credentials.length > 0 ? credentials : [undefined]) {
      try {
        const response = await this.#options.client.call(
          'PullImage',
          {
            image: { image, annotations: pod.metadata?.annotations ?? {} },
            auth: tried && { username: tried.username, password: tried.password },
            sandbox_config: await this.#options.sandboxConfig(pod),
          },
          { signal },
        );
        const sizeBytes = await this.#imageSize(image, signal);
        return { imageRef: response.image_ref, sizeBytes, pullSecret: tried?.secret };
      } catch (error) {
        errors.push(pullError(error));
      }
    }
    const messages = new Set(errors.map(({ message }) => message));
    const error = messages.size === 1 ? errors[0]! : new AggregateError(errors, `[${[...messages].join(', ')}]`);
    throw Object.assign(error, { missingPullSecrets: missingSecrets, mayHavePulled: errors.some(isWithoutAnswer) });
  }

  async #imageSize(image: string, signal: AbortSignal | undefined): Promise<number | undefined> {
    try {
      return (await this.#status(image, signal))?.size;
    } catch {
      // The size is optional: only an event shows it.
      return undefined;
    }
  }
}

function userOf(image: CRIMessage<'Image'> | undefined): ImageUser {
  if (image?.uid) return { uid: image.uid.value };
  return image?.username ? { username: image.username } : { uid: 0 };
}

const prefixes: readonly ImageError['reason'][] = ['RegistryUnavailable', 'SignatureValidationFailed'];

/**
 * The error of a failed pull. A prefix of the runtime's message selects a more specific reason. Source: kubelet
 * `evalCRIPullErr`, cri-client `PullImage`.
 */
export function pullError(error: unknown): Error {
  if (!(error instanceof CRIError)) return error as Error;
  const message = error.code === 'Unknown' ? error.message : error.goMessage;
  const reason = prefixes.find((prefix) => message.startsWith(prefix));
  if (reason === undefined) return new Error(message, { cause: error });
  return new ImageError(reason, message.slice(reason.length).replace(/^: /, ''), { cause: error });
}

/** Codes of grpc-js when the connection breaks during a call or the call takes too long. */
const codesWithoutAnswer: ReadonlySet<string> = new Set(['Canceled', 'DeadlineExceeded', 'Internal', 'Unavailable']);

/** Whether a failed pull may have succeeded in the runtime. */
export function isWithoutAnswer({ cause }: Error): boolean {
  return cause instanceof CRIError && codesWithoutAnswer.has(cause.code);
}
