import escapeRegExp from 'lodash/escapeRegExp.js';

const replacement = '[redacted]';

/** Shorter texts occur by chance, and would make a message unreadable. */
const minSecretLength = 4;

/** A shorter part of a secret discloses nothing useful and may occur by chance. */
const minFragmentLength = 24;
const windowLength = 16;
const minJWTHeaderLength = 11;

/** Common patterns of secrets: a header value, `token=…`, `"password": "…"`. */
const secretPatterns: readonly [RegExp, string][] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, `$1 ${replacement}`],
  [/(token|password|passwd|secret|api[_-]?key)(["']?\s*[:=]\s*)("[^"]*"|'[^']*'|[^\s,;&]+)/gi, `$1$2${replacement}`],
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
    redacted = redactEncoded(redacted, secret).replace(base64Encodings(secret), replacement);
    if (secret.length >= minFragmentLength) redacted = redactFragments(redacted, secret);
  }
  return redacted;
}

/** `redact` for each of many texts, in one pass: to prepare the secrets takes longer than to read a short text. */
export function redactEach(texts: readonly string[], secrets: Iterable<string>): string[] {
  const separator = '\0';
  const joined = texts.map((text) => text.replaceAll(separator, '\uFFFD')).join(separator);
  const redacted = redact(joined, secrets).split(separator);
  // Only a secret with the separator in it can span texts.
  return redacted.length === texts.length ? redacted : texts.map(() => replacement);
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
  for (let i = 0; i + windowLength <= secret.length; i += minFragmentLength - windowLength + 1)
    redacted = redactWindow(redacted, secret, i);
  return redacted;
}

/** Removes each fragment that contains the window of the secret that begins at `from`. */
function redactWindow(text: string, secret: string, from: number): string {
  const window = secret.slice(from, from + windowLength);
  const redacted: string[] = [];
  let position = 0;
  for (let at = text.indexOf(window); at !== -1; at = text.indexOf(window, position)) {
    let start = at;
    for (let s = from; s > 0 && start > position && text[start - 1] === secret[s - 1]; s--) start--;
    let end = at + windowLength;
    for (let s = from + windowLength; s < secret.length && text[end] === secret[s]; s++) end++;
    redacted.push(text.slice(position, start), replacement);
    position = end;
  }
  return [...redacted, text.slice(position)].join('');
}

/** Like `redact`, and also removes text that looks like a secret. */
export function redactLikelySecrets(text: string, secrets: Iterable<string> = []): string {
  return secretPatterns.reduce(
    (redacted, [pattern, substitute]) => redacted.replace(pattern, substitute),
    redact(text, secrets).replaceAll(/[\w.-]+/g, redactJWT),
  );
}

/** @param words text without spaces: `eyJ….eyJ….…` */
function redactJWT(words: string): string {
  let start = 0;
  for (const part of words.split('.')) {
    const end = start + part.length;
    const header = part.search(/\beyJ/);
    if (header !== -1 && part.length - header >= minJWTHeaderLength && end + 1 < words.length)
      return words.slice(0, start + header) + replacement;
    start = end + 1;
  }
  return words;
}

/** The text without the secret, each of whose characters may be encoded in its own way. */
function redactEncoded(text: string, secret: string): string {
  const lowerText = toLowerASCII(text);
  // Any character of the text may be preceded by backslashes, so backslashes are not compared.
  const characters = Array.from(secret.replaceAll('\\', ''), formsOf);
  if (characters.length < minSecretLength) return text.replaceAll(secret, replacement);
  const redacted: string[] = [];
  let position = 0;
  for (let start = 0; start < text.length;) {
    const end = endOfSecret(lowerText, start, characters);
    if (end !== undefined) {
      redacted.push(text.slice(position, start), replacement);
      position = end;
    }
    // Starting at each of many consecutive backslashes would take quadratic time.
    start = end ?? Math.max(start + 1, skipBackslashes(lowerText, start));
  }
  return [...redacted, text.slice(position)].join('');
}

function endOfSecret(text: string, start: number, characters: readonly CharacterForms[]): number | undefined {
  let end = start;
  for (const { plain, escaped } of characters) {
    const from = skipBackslashes(text, end);
    const form = plain.find((each) => text.startsWith(each, from));
    if (form !== undefined) end = from + form.length;
    else if (from > end && text.startsWith(escaped, from)) end = from + escaped.length;
    else return undefined;
  }
  return end;
}

/** @returns the position after the backslashes; `\u005c` counts as one */
function skipBackslashes(text: string, from: number): number {
  let position = from;
  while (text[position] === '\\') position += text.startsWith('u005c', position + 1) ? '\\u005c'.length : 1;
  return position;
}

interface CharacterForms {
  /** Itself, and percent-encoded. */
  readonly plain: readonly string[];
  /** Behind a backslash: `u002f`. */
  readonly escaped: string;
}

function formsOf(character: string): CharacterForms {
  const units = Array.from({ length: character.length }, (_, i) => character.charCodeAt(i));
  const percent = Array.from(Buffer.from(character), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
  return {
    plain: [toLowerASCII(character), percent],
    escaped: units.map((unit) => `u${unit.toString(16).padStart(4, '0')}`).join('\\'),
  };
}

/** Keeps the length. */
function toLowerASCII(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Matches a secret in base64. */
export function base64Encodings(secret: string): RegExp {
  return new RegExp(base64Forms(secret).join('|') || '$^', 'gi');
}

/** The stable part of a secret's base64 text for each of its three possible alignments. */
function base64Forms(secret: string): string[] {
  const forms = [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)])
      .toString('base64')
      .replace(/={1,2}$/, '');
    // The first and last characters also encode bits of the adjacent bytes.
    return encoded.slice(offset === 0 ? 0 : offset + 1, -1);
  });
  return forms
    .filter((form) => form.length >= minSecretLength)
    .map((form) => escapeRegExp(form).replace(/\\?\+/g, '[+-]').replace(/\\?\//g, '[/_]'));
}
