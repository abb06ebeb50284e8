import { createPrivateKey, X509Certificate } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSelfSignedCertificate } from '../../src/shared/x509.ts';

const nowMs = Date.parse('2026-01-02T03:04:05Z');

describe('createSelfSignedCertificate', () => {
  it('is valid for its names, for a year, and signed with its key', () => {
    const hosts = ['node-a', '192.0.2.7', '2001:db8::7', '::1', '::'];
    const { key, pem } = createSelfSignedCertificate({ commonName: 'node-a', hosts }, nowMs);
    const certificate = new X509Certificate(pem);
    expect(certificate.subject).toBe('CN=node-a');
    expect(certificate.subjectAltName).toBe(
      'DNS:node-a, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7, IP Address:0:0:0:0:0:0:0:1, IP Address:0:0:0:0:0:0:0:0',
    );
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(Date.parse(certificate.validFrom)).toBe(Date.parse('2026-01-02T02:04:05Z'));
    expect(Date.parse(certificate.validTo)).toBe(Date.parse('2027-01-02T03:04:05Z'));
  });

  it('is a CA certificate with `isAuthority`', () => {
    const { pem } = createSelfSignedCertificate({ commonName: 'a', hosts: ['::1'] }, nowMs, { isAuthority: true });
    const certificate = new X509Certificate(pem);
    expect([certificate.ca, certificate.subjectAltName]).toEqual([true, 'IP Address:0:0:0:0:0:0:0:1']);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
  });

  it('has times with the century from 2050 on', () => {
    const { pem } = createSelfSignedCertificate({ commonName: 'a', hosts: ['a'] }, Date.parse('2049-06-01T00:00:00Z'));
    expect(Date.parse(new X509Certificate(pem).validTo)).toBe(Date.parse('2050-06-01T00:00:00Z'));
  });
});
