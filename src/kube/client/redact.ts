import escapeRegExp from 'lodash/escapeRegExp.js';

const replacement = '[redacted]';

/** Shorter texts occur by chance, and would make a message unreadable. */
const minSecretLength = 4;

/** A shorter part of a secret discloses nothing useful and may occur by chance. */
const minFragmentLength = 24;
const windowLength = 16;

/** Common patterns of secrets: a JWT, a header value, `token=…`, `"password": "…"`. */
const secretPatterns: readonly [RegExp, string][] = [
  [/\beyJ[\w-]{8,}(\.[\w-]+){1,4}/g, replacement],
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${replacement}`],
  [
    /\b([\w-]*(?:token|password|passwd|secret|api[_-]?key))(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;&]+)/gi,
    `$1$2${replacement}`,
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?(-----END [A-Z ]*PRIVATE KEY-----|$)/g, replacement],
];

/**
 * The text without these secrets, however they are encoded: as they are, in JSON with any
 * characters escaped, percent-encoded, or in base64.
 */
export function redact(text: string, secrets: Iterable<string>): string {
  let redacted = text;
  for (const secret of secrets) {
    if (secret.length < minSecretLength) continue;
    redacted = redacted.replace(encodings(secret), replacement);
    if (secret.length >= minFragmentLength) redacted = redactFragments(redacted, secret);
  }
  return redacted;
}

/** The secret parts of an `Authorization` header. */
export function secretsOf(authorization: unknown): string[] {
  if (typeof authorization !== 'string') return [];
  const [scheme = '', ...rest] = authorization.split(' ');
  const value = rest.join(' ');
  if (scheme.toLowerCase() !== 'basic') return [value === '' ? authorization : value];
  const userAndPassword = Buffer.from(value, 'base64').toString();
  return [value, userAndPassword, userAndPassword.slice(userAndPassword.indexOf(':') + 1)];
}

/** Removes fragments of a secret that was truncated or split over two fields. */
function redactFragments(text: string, secret: string): string {
  let redacted = text;
  // Each fragment of the minimum length contains one of these windows.
  for (let i = 0; i + windowLength <= secret.length; i += minFragmentLength - windowLength + 1) {
    const window = secret.slice(i, i + windowLength);
    for (let at = redacted.indexOf(window); at !== -1; at = redacted.indexOf(window)) {
      let start = at;
      for (let s = i; s > 0 && start > 0 && redacted[start - 1] === secret[s - 1]; s--) start--;
      let end = at + windowLength;
      for (let s = i + windowLength; s < secret.length && redacted[end] === secret[s]; s++) end++;
      redacted = redacted.slice(0, start) + replacement + redacted.slice(end);
    }
  }
  return redacted;
}

/** Like `redact`, and also removes text that looks like a secret. */
export function redactLikelySecrets(text: string, secrets: Iterable<string> = []): string {
  return secretPatterns.reduce(
    (redacted, [pattern, substitute]) => redacted.replace(pattern, substitute),
    redact(text, secrets),
  );
}

/** Matches a secret in each encoding. */
function encodings(secret: string): RegExp {
  const characters = Array.from(secret, encodingsOfCharacter).join('');
  return new RegExp([characters, ...base64Forms(secret)].join('|'), 'gi');
}

/** A character, its JSON escapes (`\/`, `\u002f`) and its percent-encoding. */
function encodingsOfCharacter(character: string): string {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  const unicode = units.map((unit) => `\\\\+u${unit.toString(16).padStart(4, '0')}`).join('');
  const percent = Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return `(?:\\\\*${escapeRegExp(character)}|${unicode}|${percent})`;
}

/** The stable part of a secret's base64 text for each of its three possible alignments. */
function base64Forms(secret: string): string[] {
  const forms = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
      .toString('base64')
      .replace(/=+$/, '');
    // The first and last characters also encode bits of the adjacent bytes.
    return encoded.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  return forms
    .filter((form) => form.length >= minSecretLength)
    .map((form) => escapeRegExp(form).replace(/\\?\+/g, '[+-]').replace(/\\?\//g, '[/_]'));
}
