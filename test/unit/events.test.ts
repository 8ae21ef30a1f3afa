import { describe, expect, it, vi } from 'vitest';
import { createEvents } from '../../src/events.js';

const warn = { message: 'w' };

describe('events', () => {
  it('reach listeners of their kind and of all, with id and time, in order', () => {
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

  it('cannot be changed for the listeners after', () => {
    const events = createEvents(() => 0);
    events.on('*', (event) => Object.assign(event, { id: 'mine' }));
    const later = vi.fn();
    events.on('*', later);
    events.emitter('x')('warning', warn);
    expect(later).toHaveBeenCalledWith({ type: 'warning', id: 'x', at: 0, message: 'w' });
  });

  it('stop if the listener is taken back, also while being told', () => {
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

  it('go on if a listener throws, now or later: a payment must not stop half way', async () => {
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
      // Rejections count as unhandled once the microtasks are through.
      await new Promise((resolve) => setImmediate(resolve));
      expect(unhandled).not.toHaveBeenCalled();
    } finally {
      process.off('unhandledRejection', unhandled);
    }
  });

  it('cost no clock when nothing listens', () => {
    const now = vi.fn(() => 0);
    createEvents(now).emitter('x')('warning', warn);
    expect(now).not.toHaveBeenCalled();
  });
});
