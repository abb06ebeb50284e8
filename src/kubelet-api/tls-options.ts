import type { TlsOptions } from 'node:tls';
import { refuseOption } from '../shared/errors.ts';

/** Options of `serveKubeletAPI` that say how clients may connect. */
export interface KubeletTLSOptions {
  /** IANA names for TLS 1.2; the suites of TLS 1.3 are always allowed. Default: as in Node.js. kubelet: `tlsCipherSuites`. */
  readonly tlsCipherSuites?: readonly string[] | undefined;
  /** Default: `VersionTLS12`. kubelet: `tlsMinVersion`. */
  readonly tlsMinVersion?: 'VersionTLS12' | 'VersionTLS13' | undefined;
}

const minVersions = { VersionTLS12: 'TLSv1.2', VersionTLS13: 'TLSv1.3' } as const;

/** IANA name → OpenSSL name. Source: Go `tls.CipherSuites` */
export const cipherSuites: Readonly<Record<string, string>> = {
  TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA: 'ECDHE-ECDSA-AES128-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256: 'ECDHE-ECDSA-AES128-GCM-SHA256',
  TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA: 'ECDHE-ECDSA-AES256-SHA',
  TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384: 'ECDHE-ECDSA-AES256-GCM-SHA384',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-ECDSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA: 'ECDHE-RSA-AES128-SHA',
  TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256: 'ECDHE-RSA-AES128-GCM-SHA256',
  TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA: 'ECDHE-RSA-AES256-SHA',
  TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384: 'ECDHE-RSA-AES256-GCM-SHA384',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305: 'ECDHE-RSA-CHACHA20-POLY1305',
  TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256: 'ECDHE-RSA-CHACHA20-POLY1305',
};
/** As with the kubelet, they cannot be chosen. */
const tls13CipherSuites = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'];

/**
 * Divergence: cipher suites and versions that Go calls insecure are refused.
 * @throws StatusManagerError INVALID_OPTION; names the element
 */
export function tlsServerOptions({
  tlsCipherSuites = [],
  tlsMinVersion = 'VersionTLS12',
}: KubeletTLSOptions): Pick<TlsOptions, 'minVersion' | 'ciphers'> {
  if (!Object.hasOwn(minVersions, tlsMinVersion))
    refuseOption('tlsMinVersion', '`VersionTLS12` or `VersionTLS13`', tlsMinVersion);
  if (!Array.isArray(tlsCipherSuites)) refuseOption('tlsCipherSuites', 'a list of names', tlsCipherSuites);
  const chosen = tlsCipherSuites.flatMap((name: unknown, index) => {
    if (tls13CipherSuites.includes(name as string)) return [];
    if (typeof name !== 'string' || !Object.hasOwn(cipherSuites, name))
      refuseOption(`tlsCipherSuites[${index}]`, `one of ${Object.keys(cipherSuites).join(', ')}`, name);
    return [cipherSuites[name]];
  });
  return {
    minVersion: minVersions[tlsMinVersion],
    ...(chosen.length > 0 && { ciphers: [...tls13CipherSuites, ...chosen].join(':') }),
  };
}
