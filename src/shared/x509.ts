import { createHash, createPublicKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { timeFromEpochMs } from './time.ts';

/* The part of DER, the encoding of certificates, that this library writes. Source: ITU-T X.690. */

/** One element: its tag, its length and its content. */
function der(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

const derSequence = (...content: readonly Uint8Array[]): Buffer => der(0x30, ...content);
const derSet = (...content: readonly Uint8Array[]): Buffer => der(0x31, ...content);
const derUTF8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
const derOctets = (content: Uint8Array): Buffer => der(0x04, content);
const derTrue = der(0x01, Buffer.from([0xff]));
/** A bit string of whole bytes. */
const derBits = (content: Uint8Array, unusedBits = 0): Buffer => der(0x03, Buffer.from([unusedBits]), content);
/** `[number] content`, with its fields. */
const derTagged = (number: number, ...content: readonly Uint8Array[]): Buffer => der(0xa0 + number, ...content);

/** A positive integer. */
function derInteger(bytes: Uint8Array): Buffer {
  return (bytes[0] ?? 0) < 0x80 ? der(0x02, bytes) : der(0x02, Buffer.from([0]), bytes);
}

/** `1.2.840.10045.4.3.2` */
function derOID(text: string): Buffer {
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
function derTime(time: string): Buffer {
  const text = time.replaceAll(/[-:T]/g, '');
  // Until 2049, certificates have times without the century.
  return text < '2050' ? der(0x17, Buffer.from(text.slice(2))) : der(0x18, Buffer.from(text));
}

/** `-----BEGIN CERTIFICATE-----` … */
function toPEM(label: string, content: Uint8Array): string {
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

/** The names that a serving certificate is valid for. */
export interface CertificateNames {
  readonly commonName: string;
  readonly organization?: string | undefined;
  /** IP addresses and host names. */
  readonly hosts: readonly string[];
}

/** A private key and what belongs to it, as PEM. */
export interface KeyAndPEM {
  readonly key: string;
  /** A certificate or a certificate signing request. */
  readonly pem: string;
}

const ecdsaWithSHA256 = derSequence(derOID('1.2.840.10045.4.3.2'));
const dayMs = 86_400_000;
const oids = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  subjectKeyIdentifier: '2.5.29.14',
  subjectAltName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  keyUsage: '2.5.29.15',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  extensionRequest: '1.2.840.113549.1.9.14',
} as const;

/**
 * A self-signed serving certificate, valid for a year; Node.js has no API that creates certificates. Source: RFC 5280,
 * client-go `GenerateSelfSignedCertKey`.
 * @param isAuthority whether it is a CA certificate, as strict clients require of a certificate that they trust directly
 */
export function createSelfSignedCertificate(
  names: CertificateNames,
  nowMs: number,
  { isAuthority = false } = {},
): KeyAndPEM {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = distinguishedName(names);
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const serial = randomBytes(16);
  serial[0] = (serial[0]! & 0x7f) | 0x40;
  const certificate = derSequence(
    derTagged(0, derInteger(Buffer.from([2]))),
    derInteger(serial),
    ecdsaWithSHA256,
    name,
    // The clocks of clients may be behind.
    derSequence(derTime(timeFromEpochMs(nowMs - 3_600_000)), derTime(timeFromEpochMs(nowMs + 365 * dayMs))),
    name,
    publicKeyInfo,
    derTagged(3, derSequence(...(isAuthority ? authorityExtensions(names, publicKeyInfo) : servingExtensions(names)))),
  );
  return { key: pemOf(privateKey), pem: toPEM('CERTIFICATE', signed(certificate, privateKey)) };
}

/** Source: client-go `MakeCSR`. */
export function createSigningRequest(names: CertificateNames): KeyAndPEM {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const request = derSequence(
    derInteger(Buffer.from([0])),
    distinguishedName(names),
    createPublicKey(privateKey).export({ type: 'spki', format: 'der' }),
    // A client has no hosts.
    derTagged(
      0,
      ...(names.hosts.length === 0 ? [] : [extensionRequest(extension(oids.subjectAltName, altNames(names)))]),
    ),
  );
  return { key: pemOf(privateKey), pem: toPEM('CERTIFICATE REQUEST', signed(request, privateKey)) };
}

function extensionRequest(...extensions: readonly Buffer[]): Buffer {
  return derSequence(derOID(oids.extensionRequest), derSet(derSequence(...extensions)));
}

function servingExtensions(names: CertificateNames): Buffer[] {
  return [
    // Digital signature.
    extension(oids.keyUsage, derBits(Buffer.from([0x80]), 7), true),
    extension(oids.extendedKeyUsage, derSequence(derOID(oids.serverAuth))),
    extension(oids.subjectAltName, altNames(names)),
    extension(oids.basicConstraints, derSequence(), true),
  ];
}

function authorityExtensions(names: CertificateNames, publicKeyInfo: Buffer): Buffer[] {
  return [
    extension(oids.basicConstraints, derSequence(derTrue), true),
    extension(oids.subjectKeyIdentifier, derOctets(createHash('sha1').update(publicKeyInfo).digest())),
    extension(oids.subjectAltName, altNames(names)),
  ];
}

function extension(oid: string, content: Buffer, isCritical = false): Buffer {
  return derSequence(derOID(oid), ...(isCritical ? [derTrue] : []), derOctets(content));
}

function distinguishedName({ commonName, organization }: CertificateNames): Buffer {
  const attribute = (oid: string, value: string): Buffer => derSet(derSequence(derOID(oid), derUTF8(value)));
  return derSequence(
    ...(organization === undefined ? [] : [attribute(oids.organization, organization)]),
    attribute(oids.commonName, commonName),
  );
}

function altNames({ hosts }: CertificateNames): Buffer {
  return derSequence(
    ...hosts.map((host) => (isIP(host) ? der(0x87, addressBytes(host)) : der(0x82, Buffer.from(host, 'ascii')))),
  );
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // WHATWG URLs have IPv6 addresses in their shortest form.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const groups = (text = ''): string[] => (text === '' ? [] : text.split(':'));
  const head = groups(left);
  const tail = groups(right);
  const zeros = Array<string>(8 - head.length - tail.length).fill('0');
  return Buffer.from([...head, ...zeros, ...tail].map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return derSequence(content, ecdsaWithSHA256, derBits(sign('sha256', content, key)));
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}
