import { describe, expect, it } from 'vitest';
import { canonicalIP } from '../../src/kube/objects/ip-address.ts';

describe('canonicalIP reads and formats addresses as Go does', () => {
  it.each([
    ['10.0.0.5', '10.0.0.5'],
    ['010.000.000.005', '10.0.0.5'],
    ['08.0.0.1', '8.0.0.1'],
    ['00000010.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.5', '10.0.0.5'],
    ['::FFFF:a00:5', '10.0.0.5'],
    ['0:0:0:0:0:ffff:10.0.0.5', '10.0.0.5'],
    ['::10.0.0.5', '::a00:5'],
    ['::ffff:0:a00:1', '::ffff:0:a00:1'],
    ['FD00:0:0::0001', 'fd00::1'],
    ['fd00:0::00005', 'fd00::5'],
    ['fd00::010.000.000.005', 'fd00::a00:5'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::', '::'],
  ])('%s is %s', (text, address) => expect(canonicalIP(text)).toBe(address));

  it.each([
    '',
    'none',
    '1.2.3',
    '999.0.0.1',
    '0x10.1.1.1',
    ' 10.0.0.5',
    'fd00::1%eth0',
    '1::2::3',
    '12345::1',
    '1::2:3:4:5:6:7:8',
    '[::1]',
  ])('%j is not an address', (text) => expect(canonicalIP(text)).toBeUndefined());
});
