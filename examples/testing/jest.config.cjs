// For Jest in CommonJS mode before Node.js 24.9, with @babel/preset-env: Babel transforms the ES modules.
const modules = [
  'kubelet-status-manager',
  // client-node and its dependencies:
  '@kubernetes/client-node',
  '@jsep-plugin',
  'jose',
  'jsep',
  'jsonpath-plus',
  'oauth4webapi',
  'openid-client',
  'rfc4648',
];
module.exports = { transformIgnorePatterns: [`/node_modules/(?!(${modules.join('|')})/)`] };
