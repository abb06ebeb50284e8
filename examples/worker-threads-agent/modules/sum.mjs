// Adds its arguments.
const sum = process.argv.slice(2).reduce((total, number) => total + Number(number), 0);
console.log(`sum: ${sum}`);
process.exit(Number.isNaN(sum) ? 1 : 0);
