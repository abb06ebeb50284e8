import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const dayMs = 86_400_000;

const boolean = 0x01;
const integer = 0x02;
const bitString = 0x03;
const octetString = 0x04;
const objectIdentifier = 0x06;
const utf8String = 0x0c;
const generalizedTime = 0x18;
const sequence = 0x30;
const set = 0x31;
const context = (tag: number): number => 0x80 | tag;
const constructedContext = (tag: number): number => 0xa0 | tag;

/** ecdsa-with-SHA256, commonName, basicConstraints, subjectKeyIdentifier, subjectAltName. */
const oid = {
  ecdsaWithSHA256: Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]),
  commonName: Buffer.from([0x55, 0x04, 0x03]),
  basicConstraints: Buffer.from([0x55, 0x1d, 0x13]),
  subjectKeyIdentifier: Buffer.from([0x55, 0x1d, 0x0e]),
  subjectAltName: Buffer.from([0x55, 0x1d, 0x11]),
};

/**
 * A self-signed certificate for localhost, 127.0.0.1 and ::1 with a new key, valid for a year from
 * the day before `now`. kubectl sends a token over TLS only, and Node.js has no API that creates
 * certificates. Source: RFC 5280.
 */
export function selfSignedCertificate(now: number): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const publicKeyInfo = publicKey.export({ type: 'spki', format: 'der' });
  const algorithm = der(sequence, der(objectIdentifier, oid.ecdsaWithSHA256));
  const name = der(
    sequence,
    der(set, der(sequence, der(objectIdentifier, oid.commonName), der(utf8String, Buffer.from('api-server')))),
  );
  const hosts = der(
    sequence,
    der(context(2), Buffer.from('localhost')),
    der(context(7), Buffer.from([127, 0, 0, 1])),
    der(context(7), Buffer.from([...Array<number>(15).fill(0), 1])),
  );
  const extensions = der(
    sequence,
    extension(oid.basicConstraints, der(sequence, der(boolean, Buffer.from([0xff]))), true),
    extension(oid.subjectKeyIdentifier, der(octetString, createHash('sha1').update(publicKeyInfo).digest())),
    extension(oid.subjectAltName, hosts),
  );
  const content = der(
    sequence,
    der(constructedContext(0), der(integer, Buffer.from([2]))),
    der(integer, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    name,
    der(sequence, time(now - dayMs), time(now + 365 * dayMs)),
    name,
    publicKeyInfo,
    der(constructedContext(3), extensions),
  );
  const signature = Buffer.concat([Buffer.from([0]), sign('sha256', content, privateKey)]);
  return {
    cert: pem(der(sequence, content, algorithm, der(bitString, signature))),
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** Tag, length, value. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const value = Buffer.concat(content);
  const { length } = value;
  const header = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...header]), value]);
}

function extension(identifier: Buffer, value: Buffer, critical = false): Buffer {
  const isCritical = critical ? [der(boolean, Buffer.from([0xff]))] : [];
  return der(sequence, der(objectIdentifier, identifier), ...isCritical, der(octetString, value));
}

function time(epochMs: number): Buffer {
  const digits = new Date(epochMs).toISOString().replace(/\.\d+Z$|[-:T]/g, '');
  return der(generalizedTime, Buffer.from(`${digits}Z`));
}

function pem(certificate: Buffer): string {
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
