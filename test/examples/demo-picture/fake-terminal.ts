/*
 * `node --import`: lets the demo take its pipes for a terminal, without a pseudo-terminal, which Node.js has not.
 */
const terminal = { isTTY: true, columns: 100, rows: 40, hasColors: () => true };
Object.assign(process.stdout, terminal);
Object.assign(process.stdin, { isTTY: true, setRawMode: () => process.stdin });
