import type { CallOptions, PulledImage } from '../agent/runtime/container-runtime.ts';
import type { RuntimeImage } from '../agent/runtime/runtime-storage.ts';
import type { ValidPod } from '../kube/types.ts';
import { type CRIClient, withGoMessage } from './cri-client.ts';
import type { CRIRequest } from './cri-messages.ts';
import { pullError, requireImageName } from './image-errors.ts';
import { OneAtATime } from '../shared/one-at-a-time.ts';
import type { RuntimeHelper } from '../agent/runtime-helper/runtime-helper.ts';
import type { ImageUser } from './security-context.ts';

export interface CRIImagesOptions {
  readonly client: CRIClient;
  readonly helper: Pick<RuntimeHelper, 'pullCredentials'>;
  readonly sandboxConfig: (pod: ValidPod) => Promise<CRIRequest<'PodSandboxConfig'>>;
}

/** The images of a runtime. Source: CRI `ImageService`. */
export class CRIImages {
  readonly #options: CRIImagesOptions;
  /** Source: kubelet `serializeImagePulls`. */
  readonly #pulls = new OneAtATime();

  constructor(options: CRIImagesOptions) {
    this.#options = options;
  }

  async imageRef(image: string, { signal }: CallOptions = {}): Promise<string | undefined> {
    requireImageName(image);
    const call = this.#options.client.call('ImageStatus', { image: { image } }, { signal });
    return (await withGoMessage(call)).image?.id || undefined;
  }

  async pullImage(image: string, pod: ValidPod, { signal }: CallOptions = {}): Promise<PulledImage> {
    requireImageName(image);
    return this.#pulls.run(signal, () => this.#pull(image, pod, signal));
  }

  async listImages({ signal }: CallOptions = {}): Promise<readonly RuntimeImage[]> {
    const { images } = await this.#options.client.call('ListImages', {}, { signal });
    return images.map(({ id, repo_tags: tags, repo_digests: digests, size, pinned }) => {
      return { id, names: [...tags, ...digests], sizeBytes: size, pinned };
    });
  }

  async removeImage(imageID: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#options.client.call('RemoveImage', { image: { image: imageID } }, { signal });
  }

  /** The user that an image's containers run as. Source: kubelet `getImageUser`. */
  async imageUser(image: string, signal: AbortSignal | undefined): Promise<ImageUser> {
    const { image: status } = await this.#options.client.call('ImageStatus', { image: { image } }, { signal });
    if (status?.uid) return { uid: status.uid.value };
    return status?.username ? { username: status.username } : { uid: 0 };
  }

  /** Source: kubelet `pullImage`, which tries the credentials one after the other. */
  async #pull(image: string, pod: ValidPod, signal: AbortSignal | undefined): Promise<PulledImage> {
    const credentials = await this.#options.helper.pullCredentials(pod, image);
    const errors: Error[] = [];
    for (const auth of credentials.length > 0 ? credentials : [undefined]) {
      try {
        const response = await this.#options.client.call(
          'PullImage',
          {
            image: { image, annotations: pod.metadata?.annotations ?? {} },
            auth: auth && {
              username: auth.username,
              password: auth.password,
              server_address: auth.serverAddress,
              identity_token: auth.identityToken,
            },
            sandbox_config: await this.#options.sandboxConfig(pod),
          },
          { signal },
        );
        return { imageRef: response.image_ref, sizeBytes: await this.#imageSize(image, signal) };
      } catch (error) {
        errors.push(pullError(error));
      }
    }
    if (errors.length === 1) throw errors[0]!;
    throw new AggregateError(errors, `[${errors.map(({ message }) => message).join(', ')}]`);
  }

  async #imageSize(image: string, signal: AbortSignal | undefined): Promise<number | undefined> {
    try {
      return (await this.#options.client.call('ImageStatus', { image: { image } }, { signal })).image?.size;
    } catch {
      // The size is optional: only an event shows it.
      return undefined;
    }
  }
}
