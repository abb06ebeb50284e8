/* Loads the module that is named, and prints the CPU time of the process. Usage: worker.js [MODULE]. */
const [module] = process.argv.slice(2);
if (module !== undefined) await import(module);
const { user, system } = process.cpuUsage();
process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000 })}\n`);
