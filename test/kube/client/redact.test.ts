import { describe, expect, it } from 'vitest';
import { redact, redactLikelySecrets, secretsOf } from '../../../src/kube/client/redact.ts';

const secret = 'se/cret+T0ken.x';
const unicode = Array.from(secret, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('');

describe('redact', () => {
  it.each<[string, string]>([
    ['as it is', secret],
    ['in JSON', JSON.stringify({ a: `x ${secret} y` })],
    ['every character escaped: a server that did so showed the token', unicode],
    ['escaped in capitals', unicode.replace(/u00../g, (code) => code.toUpperCase().replace('U', 'u'))],
    ['some characters escaped', secret.replace('/', '\\/').replace('e', '\\u0065')],
    ['JSON within JSON', JSON.stringify(JSON.stringify(secret).replace('/', '\\u002f'))],
    ['percent-encoded', encodeURIComponent(secret)],
    ['every character percent-encoded', Array.from(Buffer.from(secret), (b) => `%${b.toString(16)}`).join('')],
    ['base64', Buffer.from(secret).toString('base64')],
    ['base64url', Buffer.from(secret).toString('base64url')],
    ['base64 of the header', Buffer.from(`Bearer ${secret}`).toString('base64')],
    ['base64 behind two characters', Buffer.from(`ab${secret}cd`).toString('base64')],
  ])('%s', (_name, text) => {
    const redacted = redact(`before ${text} after`, [secret]);
    expect(redacted).toMatch(/^before .*\[redacted\].* after$/);
    expect(redacted.length).toBeLessThan(45);
  });

  it('redacts parts of a token that a server truncated or split over two fields', () => {
    const token = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ';
    for (let length = 24; length < token.length; length++) {
      for (let start = 0; start + length <= token.length; start++) {
        const fragment = token.slice(start, start + length);
        expect(redact(`the token <${fragment}> is bad`, [token])).toBe('the token <[redacted]> is bad');
      }
    }
  });

  it('does not change other text, and ignores secrets that are too short', () => {
    expect(redact('a pod of the name abc', ['abc', ''])).toBe('a pod of the name abc');
    expect(redact('pods "web-0" is forbidden', [secret])).toBe('pods "web-0" is forbidden');
  });

  it.each([
    ['back\\slash', 'back\\slash'],
    ['back\\slash', JSON.stringify(JSON.stringify('back\\slash'))],
    ['back\\slash', 'back\\u005cslash'],
    ['\\\\\\\\', '\\\\\\\\'],
    ['pässwörd', 'p%c3%a4ssw\\u00f6rd'],
    ['key 🔑 key', 'key \\ud83d\\udd11 key'],
    ['$&$&', '$&$&'],
  ])('redacts %s in %s', (one, text) => {
    expect(redact(`<${text}> <${text}>`, [one])).toMatch(/^<"?\\*"?\[redacted\]\\*"?"?> <"?\\*"?\[redacted\]\\*"?"?>$/);
  });

  it('does not take a letter for an escaped one without its backslash', () => {
    expect(redact('u0061u0062u0063u0064 abcu0064', ['abcd'])).toBe('u0061u0062u0063u0064 abcu0064');
  });

  it('matches a secret literally, not as a regular expression', () => {
    expect(redact('aXXXXb a.*?b', ['a.*?b'])).toBe('aXXXXb [redacted]');
  });
});

describe('what a server writes is redacted in linear time', () => {
  it.each([
    ['backslashes', '\\'.repeat(1_000_000)],
    ['headers of tokens', 'eyJ-'.repeat(300_000)],
    ['words', 'N-'.repeat(500_000)],
    ['spaces', `bearer${' '.repeat(500_000)}token${' '.repeat(500_000)}`],
    ['begins of keys', '-----BEGIN '.repeat(100_000)],
  ])('%s', (_name, text) => {
    expect(redactLikelySecrets(text, [secret]) === text).toBe(true);
  });

  it('fragments of a secret that it knows', () => {
    const token = Array.from({ length: 300 }, (_, i) => `e${i}`).join('');
    const text = `${token.slice(9, 33)} `.repeat(60_000);
    expect(redact(text, [token]) === '[redacted] '.repeat(60_000)).toBe(true);
  });
});

describe('secretsOf', () => {
  it.each<[unknown, string[]]>([
    ['Bearer abc.def', ['abc.def']],
    ['abc', ['abc']],
    [`Basic ${btoa('me:pa:ss')}`, [btoa('me:pa:ss'), 'me:pa:ss', 'pa:ss']],
    [undefined, []],
  ])('%j', (authorization, expected) => {
    expect(secretsOf(authorization)).toEqual(expected);
  });
});

describe('redactLikelySecrets', () => {
  it.each([
    ['token eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln is bad', 'token [redacted] is bad'],
    ['Authorization: Bearer abcdefgh.ijk', 'Authorization: Bearer [redacted]'],
    ['access_token=abc&x=1', 'access_token=[redacted]&x=1'],
    ['{"clientSecret": "abc def"}', '{"clientSecret": [redacted]}'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----', '[redacted]'],
    ['<a.eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0>', '<a.[redacted]>'],
    ['<x-eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln>', '<x-[redacted]>'],
    ['eyJ.eyJhbGciOiJI.x eyJhbGciOiJSUzI1NiJ9', 'eyJ.[redacted] eyJhbGciOiJSUzI1NiJ9'],
    ['keyJhbGciOiJSUzI1NiJ9.a.b eyJhbG.a.b', 'keyJhbGciOiJSUzI1NiJ9.a.b eyJhbG.a.b'],
    ['my-api_key : "x"', 'my-api_key : [redacted]'],
    ['could not reach https://sts.example.com', 'could not reach https://sts.example.com'],
  ])('%s', (text, expected) => {
    expect(redactLikelySecrets(text)).toBe(expected);
  });
});
