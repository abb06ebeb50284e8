/* The part of DER, the encoding of certificates, that this library writes. Source: ITU-T X.690. */

/** One element: its tag, its length and its content. */
export function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

export const derSequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
export const derSet = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content);
export const derUTF8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const derOctets = (content: Uint8Array): Buffer => der(0x04, content);
export const derBoolean = (value: boolean): Buffer => der(0x01, Buffer.from([value ? 0xff : 0]));
/** A bit string of whole bytes. */
export const derBits = (content: Uint8Array, unusedBits = 0): Buffer => der(0x03, Buffer.from([unusedBits]), content);
/** `[number] content`, with its fields. */
export const derTagged = (number: number, ...content: readonly Uint8Array[]): Buffer => der(0xa0 + number, ...content);

/** A positive integer. */
export function derInteger(bytes: Uint8Array): Buffer {
  return (bytes[0] ?? 0) < 0x80 ? der(0x02, bytes) : der(0x02, Buffer.from([0]), bytes);
}

/** `1.2.840.10045.4.3.2` */
export function derOID(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest].flatMap((value) => {
    const groups = [value % 128];
    for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128))
      groups.unshift((left % 128) + 128);
    return groups;
  });
  return der(0x06, Buffer.from(bytes));
}

/** @param time `2026-01-02T03:04:05Z` */
export function derTime(time: string): Buffer {
  const text = time.replaceAll(/[-:T]/g, '');
  // Until 2049, certificates have times without the century.
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

/** `-----BEGIN CERTIFICATE-----` … */
export function toPEM(label: string, content: Uint8Array): string {
  const base64 = Buffer.from(content).toString('base64');
  const lines = Array.from({ length: Math.ceil(base64.length / 64) }, (_, i) => base64.slice(i * 64, (i + 1) * 64));
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n');
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let left = length; left > 0; left = Math.floor(left / 256)) bytes.unshift(left % 256);
  return Buffer.from([0x80 + bytes.length, ...bytes]);
}
