// Bundles examples/containerd-agent with its packages into one file, which a machine runs without npm.
export default {
  input: 'dist/examples/containerd-agent/main.js',
  platform: 'node',
  // grpc-js loads it only for services that the agent does not use.
  external: ['@grpc/proto-loader'],
  output: {
    file: 'dist/containerd-agent/main.mjs',
    codeSplitting: false,
    comments: false,
    charset: 'ascii', // V8 holds other files at two bytes a character.
    // Names stay as they are: stack traces have them, and the log has those of errors' classes.
    minify: {
      compress: { keepNames: { function: true, class: true } },
      mangle: { keepNames: true },
      codegen: { removeWhitespace: true },
    },
  },
};
