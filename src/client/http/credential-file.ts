import { readRegularFile } from '../../regular-file.ts';

/** Tokens and keys have a few kilobytes; a bundle of all public certificate authorities has some 300. */
const maxCredentialFileBytes = 4 * 1024 * 1024;

/** Reads a certificate, key or token file. Rejects as `readRegularFile` does. */
export function readCredentialFile(file: string): Promise<Buffer> {
  return readRegularFile(file, maxCredentialFileBytes);
}
