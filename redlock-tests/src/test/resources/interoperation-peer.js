// A Redlock client of another language. Arguments: a package from npm, then the ports of the masters.
// Reads a command a line and answers each with a line: acquire RESOURCE MILLIS | extend MILLIS |
// release | count RESOURCE TIMES.
const [, , packageName, ...ports] = process.argv;
const Redis = require('ioredis');
const loaded = require(packageName);
const Redlock = loaded.Redlock ?? loaded.default ?? loaded;

const masters = ports.map((port) => new Redis(Number(port), '127.0.0.1'));
const once = new Redlock(masters, { retryCount: 0 });
const patient = new Redlock(masters, { retryCount: 1000, retryDelay: 10, retryJitter: 20 });
let lock;

// Version 4 of node-redlock calls it lock and unlock.
const acquire = (redlock, resource, millis) =>
  redlock.acquire ? redlock.acquire([resource], millis) : redlock.lock(resource, millis);
const release = (held) => (held.release ? held.release() : held.unlock());

const commands = {
  async acquire(resource, millis) {
    lock = await acquire(once, resource, Number(millis));
  },
  async extend(millis) {
    lock = await lock.extend(Number(millis));
  },
  async release() {
    await release(lock);
  },
  async count(resource, times) {
    for (let i = 0; i < Number(times); i++) {
      const held = await acquire(patient, resource, 10_000);
      const seen = Number(await masters[0].get('count'));
      await masters[0].set('count', seen + 1);
      await release(held);
    }
  },
};

(async () => {
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    const [command, ...rest] = line.split(' ');
    try {
      await commands[command](...rest);
      console.log('done');
    } catch (e) {
      console.log('refused: ' + e.message);
    }
  }
  masters.forEach((master) => master.disconnect());
})();
