// Pays on the parent's sandbox with a journal on disk, and kills itself with SIGKILL at the moment
// that the parent chose. It reports each passed edge on pipe 3 as a line of JSON.
import { writeSync } from 'node:fs';
import { openBuyer } from './buyer.js';
import type { Edges } from './edges.js';
import type { ChildTask, Message } from './task.js';

const PIPE = 3;

// Written by the parent.
const task = JSON.parse(process.argv[2] ?? '') as ChildTask;
const tell = (message: Message) => void writeSync(PIPE, `${JSON.stringify(message)}\n`);
const counts = new Map<string, number>();
let step: ChildTask['steps'][number] = 'call';

/** Reports the edge. Returns true if the process must die here. */
function isLast(edge: string): boolean {
  const count = (counts.get(`${step} ${edge}`) ?? 0) + 1;
  counts.set(`${step} ${edge}`, count);
  const { kill } = task;
  const last = kill?.step === step && kill.edge === edge && kill.count === count;
  tell({ kind: last ? 'killed' : 'passed', step, edge, count });
  return last;
}

function end(): never {
  process.kill(process.pid, 'SIGKILL');
  for (;;); // Nothing more may happen until the signal arrives.
}

const edges: Edges = {
  pass(edge) {
    if (isLast(edge)) end();
  },
  passWith(edge, last) {
    if (!isLast(edge)) return;
    last();
    end();
  },
};

async function main(): Promise<void> {
  const buyer = await openBuyer(task, edges);
  for (step of task.steps) await buyer[step]();
  await buyer.end();
}

void main();
