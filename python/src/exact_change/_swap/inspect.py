"""Judges a foreign transaction as it is.

If it has no guard that enforces the bounds when it lands, composes its swap anew.
"""

from __future__ import annotations

import base64

from .._firewall.decoders import decode_swap
from .._firewall.foreign import extract_swap
from .._firewall.inspect import Inspection
from .._firewall.verdict import Recomposed, SwapVerdict, verdict_of
from .._kernel.steps import done
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.message import assemble_transaction
from ..errors import ExactChangeError, TransportError
from .finish import SwapDeps
from .prepare import SwapOrder, prepare_swap
from .types import NOTHING_RESERVED, SwapBounds, SwapCall


def inspect_with(
    deps: SwapDeps,
    network: str,
    transaction: object,
    wallet: Address,
    bounds: SwapBounds,
) -> Steps[SwapVerdict]:
    """Returns the verdict on a transaction; a hostile transaction is a verdict and no error."""
    most = deps.limits.max_priority_fee
    found = Inspection(deps.rpc, wallet, bounds, deps.decoders, most)
    yield from found.run(transaction)
    verdict = verdict_of(found, network, deps.decoders)
    if verdict.guarded:
        return verdict
    recomposed = yield from _recompose(deps, transaction, wallet, bounds)
    return verdict._replace(recomposed=recomposed)


def _recompose(
    deps: SwapDeps,
    transaction: object,
    wallet: Address,
    bounds: SwapBounds,
) -> Steps[Recomposed | None]:
    try:
        build = yield from extract_swap(
            deps.rpc, deps.tables, transaction, wallet, deps.decoders, None
        )
        call = decode_swap(deps.decoders, build.instruction)
        order = SwapOrder(
            _tightened(bounds, call),
            lambda: done(build),
            lambda: done(NOTHING_RESERVED),
        )
        prepared = yield from prepare_swap(deps, wallet, order)
    except ExactChangeError as error:
        # Only a failed node raises: the verdict says why a swap is refused, not that a node failed.
        if isinstance(error, TransportError):
            raise
        return None
    unsigned = assemble_transaction(prepared.message, {})
    return Recomposed(
        base64.b64encode(unsigned).decode(), str(prepared.lifetime.last_valid_block_height)
    )


def _tightened(bounds: SwapBounds, call: SwapCall | None) -> SwapBounds:
    """Returns the stricter of the caller's bounds and the instruction's own, for the guard."""
    if call is None:
        return bounds
    return bounds._replace(
        max_in=min(bounds.max_in, call.max_in), min_out=max(bounds.min_out, call.min_out)
    )
