import { expect, it } from 'vitest';
import { onBodyEnd } from '../../../../src/payments/execute/body-end.js';

/** Records how the body of a response ends. */
function watched(response: object) {
  const ends: string[] = [];
  const tell = (how: string) => async () => void ends.push(how);
  return { ends, giveUp: onBodyEnd(response, { read: tell('read'), lost: tell('lost') }) };
}

it('leaves a response readable that a fetch returns for two purchases', async () => {
  const response = new Response('body');
  const [first, second] = [watched(response), watched(response)];
  expect(await response.text()).toBe('body');
  expect([first.ends, second.ends]).toEqual([[], ['read']]);
});

/** A response like those of whatwg-fetch and React Native. */
class Polyfilled {
  bodyUsed = false;
  readonly headers = new Headers();
  constructor(readonly body: string) {}
  async text() {
    if (this.bodyUsed) throw new TypeError('Already read');
    this.bodyUsed = true;
    return this.body;
  }
  async json() {
    return JSON.parse(await this.text()) as unknown;
  }
  clone() {
    return new Polyfilled(this.body);
  }
}

it('leaves a response readable that marks itself as read', async () => {
  const polyfilled = new Polyfilled('body');
  // A page with a polyfill has this in place of a Response.
  const response = polyfilled as unknown as Response;
  const { ends } = watched(response);
  expect(await response.text()).toBe('body');
  expect(ends).toEqual(['read']);
});

/** A response with private fields, as in Node 24. */
class Private {
  #isRead = false;
  readonly body = null;
  get bodyUsed() {
    return this.#isRead;
  }
  async text() {
    this.#isRead = true;
    return 'body';
  }
  clone() {
    return this.#isRead ? undefined : proxyOf(new Private());
  }
}

/** Returns a proxy as fetch-mock makes it: members run on the response behind it. */
function proxyOf(response: object): object {
  return new Proxy(response, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

it('leaves a response readable that is a proxy of one with private fields', async () => {
  const response = proxyOf(new Private()) as Response;
  const { ends } = watched(response);
  expect(response.bodyUsed).toBe(false);
  const copy = response.clone();
  expect([await response.text(), await copy.text()]).toEqual(['body', 'body']);
  expect([response.bodyUsed, copy.bodyUsed]).toEqual([true, true]);
  expect(ends).toEqual(['read']);
});

it('leaves an object readable that inherits from a response', async () => {
  const response = new Polyfilled('body') as unknown as Response;
  const { ends } = watched(response);
  const heir = Object.create(response) as Response;
  expect([heir.bodyUsed, await heir.text()]).toEqual([false, 'body']);
  expect(ends).toEqual(['read']);
});

it.each<[string, (response: Response) => unknown]>([
  ['read', (response) => response.text()],
  ['cloned', (response) => response.clone()],
])(
  'loses a body that a signal of the fetch itself broke off before it was %s',
  async (_, touch) => {
    const response = new Response('body');
    const { body } = response;
    const { ends } = watched(response);
    // Node 18 to 22 break an arrived body off in this way, so it counts as used.
    await body?.cancel();
    const touched = async () => touch(response);
    await expect(touched()).rejects.toThrow();
    await expect(touched()).rejects.toThrow();
    expect(ends).toEqual(['lost']);
  },
);

it('loses nothing by a second read, also while the first read is under way', async () => {
  const response = new Response('body');
  const { ends } = watched(response);
  const reading = response.text();
  await expect(response.text()).rejects.toThrow();
  expect(await reading).toBe('body');
  await expect(response.text()).rejects.toThrow();
  expect(ends).toEqual(['read']);
});

it('loses a body that is given up behind such a proxy', () => {
  const { ends, giveUp } = watched(proxyOf(new Private()));
  giveUp();
  expect(ends).toEqual(['lost']);
});

it.each<[string, (response: Response) => unknown, readonly string[]]>([
  ['is lost if nothing has read it', () => undefined, ['lost']],
  ['is lost if its reader has not come to the end', (r) => r.body?.getReader().read(), ['lost']],
  ['stays read', (response) => response.text(), ['read']],
  [
    'is left to a reader that cannot be seen',
    (response) => Response.prototype.text.call(response),
    [],
  ],
])('a body that is given up %s', async (_, read, expected) => {
  const response = new Response('body');
  const { ends, giveUp } = watched(response);
  await read(response);
  giveUp();
  expect(ends).toEqual(expected);
});

it('leaves a stream readable whose chunks are text', async () => {
  const chunks = new ReadableStream<string>({
    start(controller) {
      controller.enqueue('body');
      controller.close();
    },
  });
  const response = new Response(chunks);
  const { ends } = watched(response);
  const reader = response.body?.getReader();
  expect(await reader?.read()).toEqual({ done: false, value: 'body' });
  expect(await reader?.read()).toEqual({ done: true, value: undefined });
  expect(ends).toEqual(['read']);
});
