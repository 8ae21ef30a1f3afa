"""Signs a swap with fees and rents that a relayer pays."""

from __future__ import annotations

from typing import Callable, NamedTuple

from .._base.amounts import ceil_div
from .._base.network import WSOL_MINT
from .._base.token_text import amount_text
from .._firewall.expected import Relay
from .._kernel.task import Steps
from .._solana.address import Address
from .._solana.keys import verify_signature
from .._solana.message import assemble_transaction
from .._solana.wallet_changes import ChangeText, judge_change
from ..errors import ExactChangeError, failure
from .finish import SwapDeps
from .prepare import PreparedSwap, SwapOrder, prepare_swap
from .relayer import Relayer, RelayerFacts
from .sign import SwapSigned, Wallet, sign_prepared

# A fiftieth of the fee is added, because the fee may rise a little until the relayer signs.
_HEADROOM = 50
# Fee until the real fee is known: the relayer charges for the transfer of its fee too.
_PLACEHOLDER = 1


class RelayOffer(NamedTuple):
    """A relayer that may pay for a swap, and the most that it may take as its fee."""

    relayer: Relayer
    fee_payer: Address
    pay_to: Address
    # The token of the fee: a token of the swap, never SOL.
    mint: Address
    # Base units.
    max_fee: int

    @property
    def facts(self) -> RelayerFacts:
        return RelayerFacts(self.fee_payer, self.pay_to)


def sign_relayed(
    deps: SwapDeps,
    wallet: Wallet,
    order: SwapOrder,
    offer: RelayOffer,
    because: Callable[[Exception], Exception],
) -> Steps[SwapSigned]:
    """Signs a swap as ``sign_swap`` does, for a wallet without SOL. Sends nothing.

    The relayer signs first and pays fees and rents. It is paid by a transfer of tokens, which is
    composed, simulated and guarded with the swap. The wallet signs after each byte of the relayer's
    transaction is judged. ``because`` returns the error to raise if the relayer does not answer,
    asks for more than ``max_fee``, or signed another transaction.
    """
    address, signal, relayer = wallet.signer.address, order.signal, offer.relayer
    unfit = _unfitness(address, order, offer)
    if unfit is not None:
        raise because(_refused(offer.fee_payer, unfit))

    def prepare(amount: int) -> Steps[PreparedSwap]:
        relay = Relay(offer.fee_payer, offer.pay_to, offer.mint, amount)
        return prepare_swap(deps, address, order._replace(relay=relay))

    estimate = yield from prepare(_PLACEHOLDER)
    unsigned = assemble_transaction(estimate.message, {})
    try:
        fee = yield from relayer.fee(unsigned, offer.mint, offer.facts, signal)
    except Exception as cause:
        raise because(cause)
    if fee > offer.max_fee:
        raise because(_too_dear(wallet.network, offer, fee))
    most = min(fee + ceil_div(fee, _HEADROOM), offer.max_fee)
    prepared = yield from prepare(most)
    yield from order.plan(prepared.expected)
    unsigned = assemble_transaction(prepared.message, {})
    try:
        wire = yield from relayer.sign(unsigned, offer.facts, signal)
        message, signature = _judge_relayed(prepared.message, wire, offer.fee_payer)
    except Exception as cause:
        raise because(cause)
    relayed = prepared._replace(message=message)
    existing = {offer.fee_payer: signature}
    return (yield from sign_prepared(wallet, relayed, signal, existing))


def _unfitness(wallet: Address, order: SwapOrder, offer: RelayOffer) -> str | None:
    """Returns why a relayer may not pay for a swap: it could reach lamports of the wallet."""
    if wallet in (offer.fee_payer, offer.pay_to):
        return "it names the wallet itself"
    if WSOL_MINT in (order.bounds.input_mint, offer.mint):
        return "the swap would take SOL of the wallet"
    return None


def _judge_relayed(message: bytes, wire: bytes, fee_payer: Address) -> tuple[bytes, bytes]:
    """Returns the message that a relayer signed; raises unless it only added guards that read."""
    judged = judge_change(message, wire)
    if isinstance(judged, ChangeText):
        raise _refused(fee_payer, f"it changed it: {judged.refuses}", judged.id)
    signed = judged.signed
    if not verify_signature(signed.message, signed.signatures[0], fee_payer):
        raise _refused(fee_payer, "its signature does not fit")
    return signed.message, signed.signatures[0]


def _refused(address: Address, why: str, rule: str | None = None) -> ExactChangeError:
    details, note = {"address": address}, ""
    if rule is not None:
        details["rule"], note = rule, f" (rule {rule})"
    return failure(
        "signing_failed",
        f"The relayer {address} did not sign the swap as it was composed: {why}{note}. The wallet "
        "signed nothing. Use another relayer, or send the wallet SOL.",
        details,
    )


def _too_dear(network: str, offer: RelayOffer, fee: int) -> ExactChangeError:
    mint, max_fee = offer.mint, offer.max_fee
    asked, most = (amount_text(network, mint, amount) for amount in (fee, max_fee))
    return failure(
        "amount_over_limit",
        f"The relayer asks for {asked} to pay for the swap; at most {most} may go to it. Raise "
        "relayer.max_fee, or send the wallet SOL.",
        {"cap": "relayer.max_fee", "limit": str(max_fee), "amount": str(fee), "unit": mint},
    )
