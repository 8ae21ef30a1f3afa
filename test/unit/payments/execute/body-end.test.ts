import { expect, it } from 'vitest';
import { onBodyEnd } from '../../../../src/payments/execute/body-end.js';

const told = () => {
  const ends: string[] = [];
  const tell = (how: string) => async () => void ends.push(how);
  return { ends, end: { read: tell('read'), lost: tell('lost') } };
};

it('a response that a fetch gives for two purchases can be read', async () => {
  const response = new Response('body');
  const [one, two] = [told(), told()];
  onBodyEnd(response, one.end);
  onBodyEnd(response, two.end);
  expect(await response.text()).toBe('body');
  expect([one.ends, two.ends]).toEqual([[], ['read']]);
});

/** As that of whatwg-fetch and React Native. */
class Polyfilled {
  bodyUsed = false;
  readonly headers = new Headers();
  constructor(readonly all: string) {}
  async text() {
    if (this.bodyUsed) throw new TypeError('Already read');
    this.bodyUsed = true;
    return this.all;
  }
  async json() {
    return JSON.parse(await this.text()) as unknown;
  }
  clone() {
    return new Polyfilled(this.all);
  }
}

it('a response that notes itself that it was read can be read', async () => {
  const polyfilled = new Polyfilled('body');
  const response = polyfilled as unknown as Response; // What such a page has in its place.
  const { ends, end } = told();
  onBodyEnd(response, end);
  expect(await response.text()).toBe('body');
  expect(ends).toEqual(['read']);
});
