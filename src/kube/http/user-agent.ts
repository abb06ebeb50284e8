/** The package's version; a test holds it to package.json. */
export const version = '0.1.0';

/** The API server uses the part before the `/` as field manager. */
export function defaultUserAgent(): string {
  return `kubelet-status-manager/${version} (${process.platform}/${process.arch}) node/${process.versions.node}`;
}
