import { createCoordination } from '../../src/journal/registry.js';
import { createMemoryJournal } from '../../src/journal/memory.js';
import type { Coordination, Owner } from '../../src/journal/types.js';
import { coordinationContract } from './coordination-contract.js';
import type { OpenJournal } from './journal-contract.js';

coordinationContract('the memory of one process', async () => openOn(new Map()));

/**
 * Opens a journal on a store that several journals share. Closing it frees its locks and its
 * claims, as the end of a process would.
 */
function openOn(store: Map<string, Coordination>): OpenJournal {
  const claimed: (() => Promise<void>)[] = [];
  let end = (): void => undefined;
  const ended = new Promise<never>((_, reject) => (end = () => reject(new Error('closed'))));
  ended.catch(() => undefined);
  const shared = ({ wallet, network }: Owner): Coordination => {
    const name = `${wallet} ${network}`;
    const coordination = store.get(name) ?? createCoordination();
    store.set(name, coordination);
    return coordination;
  };
  const coordination = (owner: Owner): Coordination => {
    const { claims, locks, ...rest } = shared(owner);
    return {
      ...rest,
      locks: {
        hold: (names, work, signals) =>
          locks.hold(names, () => Promise.race([work(), ended]), signals),
      },
      claims: {
        ...claims,
        take: (ids) => {
          claimed.push(() => claims.drop(ids));
          return claims.take(ids);
        },
      },
    };
  };
  return {
    journal: { ...createMemoryJournal(), coordination },
    reopen: async () => openOn(store),
    close: async () => {
      end();
      await Promise.all(claimed.map((drop) => drop()));
    },
  };
}
