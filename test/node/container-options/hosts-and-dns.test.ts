import { describe, expect, it } from 'vitest';
import { managedHostsFileContent, nodeHostsFileContent } from '../../../src/agent/container-options/hosts-file.ts';
import { fitSearches, getPodDNS } from '../../../src/agent/container-options/pod-dns.ts';
import {
  generatePodHostNameAndDomain,
  nodenameForKernel,
  truncatePodHostname,
} from '../../../src/agent/container-options/pod-host-name.ts';
import { parseResolvConf } from '../../../src/agent/container-options/resolv-conf.ts';

const localhosts = `127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
fe00::0\tip6-localnet
fe00::0\tip6-mcastprefix
fe00::1\tip6-allnodes
fe00::2\tip6-allrouters
`;
const aliases = [
  { ip: '123.45.67.89', hostnames: ['foo', 'bar', 'baz'] },
  { ip: '456.78.90.123', hostnames: ['park', 'doo', 'boo'] },
];
const aliasLines = ['123.45.67.89\tfoo\tbar\tbaz\n', '456.78.90.123\tpark\tdoo\tboo\n'];

describe('TestManagedHostsFileContent: managedHostsFileContent', () => {
  it.each([
    [['123.45.67.89'], '', 0, '123.45.67.89\tpodFoo\n'],
    [['203.0.113.1'], 'domainFoo', 0, '203.0.113.1\tpodFoo.domainFoo\tpodFoo\n'],
    [['203.0.113.1'], 'domainFoo', 1, '203.0.113.1\tpodFoo.domainFoo\tpodFoo\n'],
    [['203.0.113.1'], 'domainFoo', 2, '203.0.113.1\tpodFoo.domainFoo\tpodFoo\n'],
    [
      ['203.0.113.1', 'fd00::6'],
      'domainFoo',
      0,
      '203.0.113.1\tpodFoo.domainFoo\tpodFoo\nfd00::6\tpodFoo.domainFoo\tpodFoo\n',
    ],
  ])('%j in domain %j with %i aliases', (ips, domain, count, lines) => {
    const content = managedHostsFileContent(ips, { hostname: 'podFoo', domain }, aliases.slice(0, count));
    const added = count === 0 ? '' : `\n# Entries added by HostAliases.\n${aliasLines.slice(0, count).join('')}`;
    expect(content).toBe(`# Kubernetes-managed hosts file.\n${localhosts}${lines}${added}`);
  });
});

describe('TestNodeHostsFileContent: nodeHostsFileContent', () => {
  it.each([0, 1, 2])("is the node's file and %i aliases", (count) => {
    const own = `# hosts file for testing.\n${localhosts}123.45.67.89\tsome.domain\n`;
    const added = count === 0 ? '' : `\n# Entries added by HostAliases.\n${aliasLines.slice(0, count).join('')}`;
    const content = nodeHostsFileContent(own, aliases.slice(0, count));
    expect(content).toBe(`# Kubernetes-managed hosts file (host network).\n${own}${added}`);
  });
});

it('a host alias may have no names', () => {
  expect(nodeHostsFileContent('', [{ ip: '10.0.0.1' }])).toBe(
    '# Kubernetes-managed hosts file (host network).\n\n# Entries added by HostAliases.\n10.0.0.1\t\n',
  );
});

describe('TestTruncatePodHostname: truncatePodHostname', () => {
  it.each([
    ['valid hostname', 'test.pod.hostname', 'test.pod.hostname'],
    ['too long hostname', '1234567.'.repeat(9), '1234567.'.repeat(8).slice(0, -1)],
    ['hostname end with .', `${'1234567.'.repeat(7)}123456.1234567.`, `${'1234567.'.repeat(7)}123456`],
    ['hostname end with -', `${'1234567.'.repeat(7)}123456-1234567.`, `${'1234567.'.repeat(7)}123456`],
    ['63 characters', 'a'.repeat(63), 'a'.repeat(63)],
    ['64 characters', 'a'.repeat(64), 'a'.repeat(63)],
  ])('%s', (_name, hostname, truncated) => expect(truncatePodHostname(hostname)).toBe(truncated));

  it('refuses a name of which nothing would be left', () => {
    const hostname = `${'-.'.repeat(32)}a`;
    expect(() => truncatePodHostname(hostname)).toThrow(`hostname for the pod was invalid: "${hostname}"`);
  });
});

describe('TestGeneratePodHostNameAndDomain: generatePodHostNameAndDomain', () => {
  const subdomain = 'my-subdomain';
  it.each([
    ['Default behavior - pod name as hostname', {}, 'test-pod', ''],
    ['Custom Hostname - uses pod.Spec.Hostname', { hostname: 'custom-hostname' }, 'custom-hostname', ''],
    ['Custom Subdomain - constructs FQDN', { subdomain }, 'test-pod', 'my-subdomain.default.svc.cluster.local'],
    [
      'Custom Hostname and Subdomain - uses both',
      { hostname: 'custom-hostname', subdomain },
      'custom-hostname',
      'my-subdomain.default.svc.cluster.local',
    ],
    [
      'HostnameOverride - overrides all',
      { hostname: 'custom-hostname', subdomain, hostnameOverride: 'override-hostname' },
      'override-hostname',
      '',
    ],
    [
      'HostnameOverride - overrides all - valid DNS hostname',
      { hostnameOverride: 'valid.hostname' },
      'valid.hostname',
      '',
    ],
    ['Hostname Truncation - pod name is too long', { name: 'a'.repeat(65) }, 'a'.repeat(63), ''],
  ])(
    '%s',
    (
      _case,
      { name = 'test-pod', ...spec }: { readonly name?: string; readonly [field: string]: unknown },
      hostname,
      domain,
    ) => {
      const pod = { metadata: { name, namespace: 'default' }, spec };
      expect(generatePodHostNameAndDomain(pod, 'cluster.local')).toEqual({ hostname, domain });
    },
  );

  it.each([
    [
      'HostnameOverride - overrides all - invalid hostname',
      { hostnameOverride: 'Invalid-Hostname-!' },
      'pod HostnameOverride "Invalid-Hostname-!" is not a valid DNS subdomain',
    ],
    [
      'Validation - invalid hostname',
      { hostname: 'Invalid-Hostname-!' },
      'pod Hostname "Invalid-Hostname-!" is not a valid DNS label',
    ],
    [
      'Validation - invalid subdomain',
      { subdomain: 'invalid_subdomain' },
      'pod Subdomain "invalid_subdomain" is not a valid DNS label',
    ],
    ['Validation - too long hostname', { hostname: 'a'.repeat(64) }, 'is not a valid DNS label'],
  ])('%s', (_case, spec, message) => {
    const pod = { metadata: { name: 'test-pod', namespace: 'default' }, spec };
    expect(() => generatePodHostNameAndDomain(pod, 'cluster.local')).toThrow(message);
  });
});

describe('TestGetNodenameForKernel: nodenameForKernel', () => {
  const spec = { setHostnameAsFQDN: true };
  it.each([
    ['no setHostnameAsFQDN', {}, 'svc.local', 'test-pod'],
    ['setHostnameAsFQDN: false', { setHostnameAsFQDN: false }, 'svc.local', 'test-pod'],
    ['no domain', spec, '', 'test-pod'],
    ['64 characters', spec, 'a'.repeat(55), `test-pod.${'a'.repeat(55)}`],
  ])('%s', (_case, fields, domain, expected) => {
    expect(nodenameForKernel({ hostname: 'test-pod', domain }, { spec: fields })).toBe(expected);
  });

  it('refuses a name that the kernel cannot have, instead of a shorter one', () => {
    const domain = 'a'.repeat(56);
    expect(() => nodenameForKernel({ hostname: 'test-pod', domain }, { spec })).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN test-pod.${domain} is too long (64 characters is the max, 65 characters requested)`,
    );
  });
});

describe('TestParseResolvConf: parseResolvConf', () => {
  it.each([
    ['', [], [], []],
    ['\t\n\t', [], [], []],
    [' #comment\n', [], [], []],
    ['#comment\nnameserver 1.2.3.4\nsearch', ['1.2.3.4'], [], []],
    ['\tnameserver 1.2.3.4', ['1.2.3.4'], [], []],
    ['nameserver \t 1.2.3.4', ['1.2.3.4'], [], []],
    ['nameserver 1.2.3.4\nnameserver 5.6.7.8', ['1.2.3.4', '5.6.7.8'], [], []],
    ['nameserver 1.2.3.4 #comment', ['1.2.3.4'], [], []],
    ['search .', [], [], []],
    ['search foo .  bar', [], ['foo', 'bar'], []],
    ['search foo. bar', [], ['foo', 'bar'], []],
    ['search foo\nsearch bar', [], ['bar'], []],
    ['#comment\nnameserver 1.2.3.4\n#comment\nsearch foo\ncomment', ['1.2.3.4'], ['foo'], []],
    ['options ndots:5 attempts:2', [], [], ['ndots:5', 'attempts:2']],
    ['options ndots:1 ndots:5 attempts:2', [], [], ['ndots:5', 'attempts:2']],
    ['options ndots:1 timeout:3 timeout:1 attempts:3\noptions ndots:5', [], [], ['ndots:5', 'timeout:1', 'attempts:3']],
  ])('%j', (text, servers, searches, options) => {
    expect(parseResolvConf(text)).toEqual({ servers, searches, options });
  });

  it('refuses a nameserver without an address', () => {
    expect(() => parseResolvConf('#comment\nnameserver')).toThrow('nameserver list is empty');
  });
});

describe('TestFormDNSSearchFitsLimits: fitSearches', () => {
  const cluster = ['testNS.svc.TEST', 'svc.TEST', 'TEST'];
  const longest = ['A'.repeat(128), ...Array<string>(15).fill('A'.repeat(127))];
  const many = (count: number) => Array.from({ length: count }, (_, index) => String(index));
  it.each([
    ['valid: 3 search paths', cluster, cluster],
    ['invalid: 256 characters search path', [...cluster, 'B'.repeat(256), 'BBB'], [...cluster, 'BBB']],
    ['valid: 2048 characters in search path list', longest, longest],
    ['invalid: 2050 characters in search path list', [...longest, 'B'], longest],
    ['valid: 32 search paths', many(32), many(32)],
    ['invalid: 33 search paths', many(33), many(32)],
  ])('%s', (_name, searches, fitting) => expect(fitSearches(searches)).toEqual(fitting));
});

describe('TestGetPodDNSCustom: getPodDNS', () => {
  const sources = {
    clusterDNS: ['10.0.0.10'],
    clusterDomain: 'kubernetes.io',
    nodeDNS: { servers: ['8.8.8.8'], searches: ['host.domain'], options: [] },
    nodeIPs: [],
  };
  const podWith = (spec: object) => ({ metadata: { name: 'test_pod', namespace: 'testNS', uid: '1' }, spec });
  const ofCluster = ['testNS.svc.kubernetes.io', 'svc.kubernetes.io', 'kubernetes.io', 'host.domain'];
  const options = [{ name: 'ndots', value: '3' }, { name: 'debug' }];
  const dnsConfig = { nameservers: ['10.0.0.11'], searches: ['my.domain'], options };
  const merged = {
    servers: ['10.0.0.10', '10.0.0.11'],
    searches: [...ofCluster, 'my.domain'],
    options: ['ndots:3', 'debug'],
    warnings: [],
  };

  it.each([
    [
      'DNSNone without DNSConfig should have empty DNS settings',
      { dnsPolicy: 'None' },
      { servers: [], searches: [], options: [], warnings: [] },
    ],
    [
      'DNSNone with DNSConfig should have a merged DNS settings',
      { dnsPolicy: 'None', dnsConfig },
      { servers: ['10.0.0.11'], searches: ['my.domain'], options: ['ndots:3', 'debug'], warnings: [] },
    ],
    [
      'DNSClusterFirst with DNSConfig should have a merged DNS settings',
      { dnsPolicy: 'ClusterFirst', dnsConfig },
      merged,
    ],
    [
      'DNSClusterFirstWithHostNet with DNSConfig should have a merged DNS settings',
      { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true, dnsConfig },
      merged,
    ],
    [
      'DNSDefault with DNSConfig should have a merged DNS settings',
      { dnsPolicy: 'Default', dnsConfig },
      { ...merged, servers: ['8.8.8.8', '10.0.0.11'], searches: ['host.domain', 'my.domain'] },
    ],
  ])('%s', (_name, spec, expected) => {
    expect(getPodDNS(podWith(spec), sources)).toEqual(expected);
  });

  it('TestGetPodDNS: is that of the node in its network, and the loopback where the node has none', () => {
    const inHostNetwork = podWith({ dnsPolicy: 'ClusterFirst', hostNetwork: true });
    expect(getPodDNS(inHostNetwork, sources)).toMatchObject({ servers: ['8.8.8.8'], searches: ['host.domain'] });
    const none = { ...sources, nodeDNS: undefined };
    expect(getPodDNS(inHostNetwork, none)).toMatchObject({ servers: ['127.0.0.1'], searches: ['.'] });
    expect(getPodDNS(inHostNetwork, { ...none, nodeIPs: ['::2'] })).toMatchObject({ servers: ['::1'] });
  });

  it('is that of the node and of the cluster, each name once', () => {
    const nodeDNS = { servers: ['8.8.8.8'], searches: ['kubernetes.io', 'host.domain'], options: ['timeout:1'] };
    const dnsConfig = { nameservers: ['10.0.0.10', '10.0.0.11', '10.0.0.11'], searches: ['host.domain'] };
    expect(getPodDNS(podWith({ dnsConfig }), { ...sources, nodeDNS })).toEqual({
      servers: ['10.0.0.10', '10.0.0.11'],
      searches: ofCluster,
      options: ['ndots:5'],
      warnings: [],
    });
  });

  it("has the cluster's domain only if there is one, and the searches of the node only if it has some", () => {
    expect(getPodDNS(podWith({}), { ...sources, clusterDomain: '' }).searches).toEqual(['host.domain']);
    expect(getPodDNS(podWith({}), { ...sources, nodeDNS: undefined }).searches).toEqual(ofCluster.slice(0, 3));
  });

  it('has the options of the node with the policy Default, and those of the pod win', () => {
    const nodeDNS = { servers: ['8.8.8.8'], searches: [], options: ['ndots:1', 'rotate'] };
    const dnsConfig = { options: [{ name: 'ndots', value: '2' }, { name: 'edns0' }] };
    const dns = getPodDNS(podWith({ dnsPolicy: 'Default', dnsConfig }), { ...sources, nodeDNS });
    expect(dns.options).toEqual(['ndots:2', 'rotate', 'edns0']);
  });

  it('warns of nothing when the pod does not ask for the DNS of the cluster', () => {
    const none = { ...sources, clusterDNS: [] };
    for (const spec of [
      { dnsPolicy: 'Default' },
      { dnsPolicy: 'None' },
      { dnsPolicy: 'ClusterFirst', hostNetwork: true },
    ])
      expect(getPodDNS(podWith(spec), none).warnings).toEqual([]);
  });

  it('warns when the cluster has no DNS', () => {
    const { warnings, servers } = getPodDNS(podWith({ dnsPolicy: 'ClusterFirst' }), { ...sources, clusterDNS: [] });
    expect(servers).toEqual(['8.8.8.8']);
    expect(warnings).toEqual([
      {
        reason: 'MissingClusterDNS',
        message:
          'pod: "test_pod_testNS(1)". kubelet does not have ClusterDNS IP configured and cannot create Pod using "ClusterFirst" policy. Falling back to "Default" policy.',
      },
    ]);
    const inHostNetwork = podWith({ dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true });
    expect(getPodDNS(inHostNetwork, { ...sources, clusterDNS: [] }).warnings).toEqual(warnings);
  });

  it('TestFormDNSNameserversFitsLimits: warns about servers and searches that are omitted', () => {
    const searches = Array.from({ length: 33 }, (_, index) => `s${index}`);
    const spec = {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['1.1.1.1', '2.2.2.2', '3.3.3.3', '4.4.4.4'], searches },
    };
    const dns = getPodDNS(podWith(spec), sources);
    expect(dns.servers).toEqual(['1.1.1.1', '2.2.2.2', '3.3.3.3']);
    expect(dns.warnings.map(({ reason }) => reason)).toEqual(['DNSConfigForming', 'DNSConfigForming']);
    expect(dns.warnings.map(({ message }) => message)).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 1.1.1.1 2.2.2.2 3.3.3.3',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.slice(0, 32).join(' ')}`,
    ]);
  });
});
