import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { refuseOption } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { required, requireOptions } from '../../shared/option-checks.ts';
import { CredentialProviders } from './credential-providers.ts';
import { execPlugin } from './exec-plugin.ts';
import { readCredentialProviders } from './provider-config.ts';

/** Programs that provide the node's credentials for images. Source: kubelet `RegisterCredentialProviderPlugins`. */
export interface CredentialProviderOptions {
  /** Each the content of a file of kind `CredentialProviderConfig`. kubelet: `--image-credential-provider-config`. */
  readonly configs: readonly unknown[];
  /** Absolute path of the folder of the programs. kubelet: `--image-credential-provider-bin-dir`. */
  readonly binDirectory: string;
}

/** @throws StatusManagerError INVALID_OPTION, also if a program is missing */
export function createCredentialProviders(
  options: CredentialProviderOptions | undefined,
  { clock, logger, signal }: { readonly clock: Clock; readonly logger: Logger; readonly signal: AbortSignal },
): Pick<CredentialProviders, 'credentialsFor'> {
  if (options === undefined) return { credentialsFor: async () => [] };
  requireOptions(
    options,
    {
      binDirectory: required('an absolute path', (path: unknown) => typeof path === 'string' && path.startsWith('/')),
      configs: required('a list', Array.isArray),
    },
    'credentialProviders',
  );
  const { configs, binDirectory } = options;
  const providers = readCredentialProviders(configs);
  for (const { name } of providers) requireProgram(binDirectory, name);
  return new CredentialProviders({
    ...{ providers, clock, logger },
    execPlugin: (provider, image) => execPlugin(provider, image, { binDirectory, clock, signal }),
  });
}

function requireProgram(binDirectory: string, name: string): void {
  try {
    accessSync(join(binDirectory, name), constants.X_OK);
  } catch {
    refuseOption('credentialProviders.binDirectory', `a folder with the program ${name}`, binDirectory);
  }
}
