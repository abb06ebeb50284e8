// Prints the time every second until the agent asks it to end.
import { parentPort } from 'node:worker_threads';

const timer = setInterval(() => console.log(`${process.env.NAME}: ${new Date().toISOString()}`), 1000);
parentPort.once('message', () => {
  console.log('asked to end');
  clearInterval(timer);
});
