#!/usr/bin/env node
// This file uses only syntax of the oldest Node with ES modules; `main.js` needs a newer Node.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 12)) {
  process.stderr.write(
    `exact-change: the command needs Node 20.12 or newer, and this is Node ${process.versions.node}. The library needs only Node 16.14.\n`,
  );
  process.exitCode = 1;
} else {
  void import('./main.js').then(({ main }) => main());
}
