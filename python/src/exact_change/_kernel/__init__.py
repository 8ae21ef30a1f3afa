"""One core for threads and for asyncio: steps are generators, and a host carries out their effects.

A step yields effects and returns a value; ``yield from`` calls another step. Steps change shared
state only in turns, and the process runs one turn at a time. So the code between two effects is
atomic, in threads as in an event loop. If a caller gives up, a signal tells the steps; an exception
never interrupts a step.

No step yields in a ``finally``: see :func:`exact_change._kernel.steps.ensure`.
"""
