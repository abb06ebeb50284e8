/** `COMMAND | head`: what is printed after the reader has gone is dropped, without an error. Import it first. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
