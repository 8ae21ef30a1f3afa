import { agentTools } from 'exact-change/ai';
import { wrapAxios } from 'exact-change/axios';
import { observe } from 'exact-change/otel';
import { undiciRequest } from 'exact-change/undici';
import { exactChangeScheme } from 'exact-change/x402';
import { expect, it } from 'vitest';

type Door = readonly [door: (...args: never[]) => unknown, ...before: unknown[]];

/** Functions that take a client as the argument after the given arguments. */
const doors: Readonly<Record<string, Door>> = {
  wrapAxios: [wrapAxios, { defaults: {} }],
  undiciRequest: [undiciRequest],
  exactChangeScheme: [exactChangeScheme],
  observe: [observe],
  agentTools: [agentTools],
};

it.each(Object.entries(doors))('%s refuses what is no client', (_, [door, ...before]) => {
  for (const client of [{ walletSecretKey: 'x' }, {}, undefined, null])
    expect(() => Reflect.apply(door, undefined, [...before, client])).toThrow(
      expect.objectContaining({
        code: 'invalid_option',
        message: 'Option client must be a client, such as createClient() gives.',
      }),
    );
});
