const untrusted =
  "the server's certificate is not signed by an authority that the kubeconfig trusts: set `certificate-authority` to the cluster's CA";

/** Codes of Node.js and OpenSSL for a TLS connection that failed, in plain words, with what to do. */
const problems: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  DEPTH_ZERO_SELF_SIGNED_CERT: untrusted,
  CERT_UNTRUSTED: untrusted,
  CERT_SIGNATURE_FAILURE: untrusted,
  CERT_HAS_EXPIRED: "the server's certificate, or its authority's, has expired: renew it, or correct the clock here",
  CERT_NOT_YET_VALID: "the server's certificate, or its authority's, is not valid yet: correct the clock here",
  ERR_TLS_CERT_ALTNAME_INVALID:
    "the server's certificate does not have this name: use one that it has as `server` in the kubeconfig, or as `tls-server-name`",
  ERR_SSL_WRONG_VERSION_NUMBER: 'the server does not speak TLS: correct the scheme or the port of `server`',
};

/** Undefined if none of the codes has an explanation. */
export function tlsProblemOf(codes: readonly string[]): string | undefined {
  return codes.map((code) => problems[code]).find((problem) => problem !== undefined);
}
