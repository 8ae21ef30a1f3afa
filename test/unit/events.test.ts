import { describe, expect, it, vi } from 'vitest';
import { createEvents } from '../../src/events.js';

const warn = { message: 'w' };

describe('events', () => {
  it('reach listeners of their type and of *, in order, with id and time', () => {
    const events = createEvents(() => 42);
    const seen: string[] = [];
    events.on('warning', (event) =>
      seen.push(`${event.type} ${event.id} ${event.at} ${event.message}`),
    );
    events.on('*', (event) => seen.push(`* ${event.type}`));
    events.on('swap.failed', () => seen.push('never'));
    events.emitter('attempt-1')('warning', warn);
    expect(seen).toEqual(['warning attempt-1 42 w', '* warning']);
  });

  it('reach later listeners unchanged when an earlier listener modifies its copy', () => {
    const events = createEvents(() => 0);
    events.on('*', (event) => Object.assign(event, { id: 'mine' }));
    const later = vi.fn();
    events.on('*', later);
    events.emitter('x')('warning', warn);
    expect(later).toHaveBeenCalledWith({ type: 'warning', id: 'x', at: 0, message: 'w' });
  });

  it.each([
    ['paymnt.settled', 'Event paymnt.settled is not known. Did you mean payment.settled? Correct'],
    ['error', 'Event error is not known. Use one of *, payment.required, '],
  ])('are refused by a name that they do not have: %s', (name, says) => {
    const on: (name: string, listener: () => void) => unknown = createEvents(() => 0).on;
    const message: unknown = expect.stringContaining(says);
    expect(() => on(name, () => undefined)).toThrow(
      expect.objectContaining({ code: 'invalid_option', details: { option: name }, message }),
    );
  });

  it('stop when a listener unsubscribes, even during a delivery', () => {
    const events = createEvents(() => 0);
    const told: string[] = [];
    const stop = events.on('warning', () => {
      told.push('first');
      stop();
    });
    events.on('warning', () => told.push('second'));
    events.emitter('x')('warning', warn);
    events.emitter('x')('warning', warn);
    stop();
    expect(told).toEqual(['first', 'second', 'second']);
  });

  it('reach the next listener when an earlier listener throws or rejects', async () => {
    const events = createEvents(() => 0);
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    try {
      const last = vi.fn();
      events.on('warning', () => {
        throw new Error('now');
      });
      const failing: () => unknown = () => Promise.reject(new Error('later'));
      events.on('warning', failing);
      events.on('warning', last);
      expect(() => events.emitter('x')('warning', warn)).not.toThrow();
      expect(last).toHaveBeenCalledOnce();
      // Node reports unhandled rejections after the microtask queue is empty.
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  it('do not read the clock when nothing listens', () => {
    const now = vi.fn(() => 0);
    createEvents(now).emitter('x')('warning', warn);
    expect(now).not.toHaveBeenCalled();
  });
});
