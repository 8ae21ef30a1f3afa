"""One core for threads and for asyncio: steps are generators, and a host does what they ask for.

A step yields effects and returns a value; ``yield from`` calls another step. All that steps share
is changed in turns, one at a time in the whole process, so that whatever lies between two effects
is atomic, in threads as in an event loop. What a caller gives up is told by a signal, never by an
exception in the middle of a step.

No step yields in a ``finally``: see :func:`exact_change._kernel.steps.ensure`.
"""
