"""Everything that a client can do, as steps."""

from __future__ import annotations

from functools import partial
from typing import Any, Mapping, NamedTuple, Sequence, TypeVar

from .._base.amounts import parse_amount, parse_ui_amount
from .._base.json_types import mapping_of
from .._base.network import pinned_mint
from .._base.options import refuse, refuse_unknown
from .._base.token_text import symbol_of
from .._base.urls import host_of, parse_address
from .._config.options import parse_bool
from .._config.swap_request import ApprovedQuote, ResolvedRequest, check_names, parse_swap_request
from .._journal.types import Attempt
from .._kernel.signals import Signal
from .._kernel.steps import quiet, settled, until_aborted
from .._kernel.task import Host, Steps, begin
from .._policy.caps import CapUse, caps_for_spends
from .._policy.hosts import plain_host, read_host
from .._policy.read import read_address, read_list, read_mint
from .._receipt import FreedReceipt, Receipt, ReceiptFilter, RelayFee, read_receipt
from .._solana.address import Address
from .._solana.tokens import decode_mint
from .._swap.check_quote import clean_quote
from .._swap.read_facts import unknown_mint
from .._swap.types import SwapQuote
from .._transport.types import TokenBalance
from .._x402.types import PaymentRequired
from ..errors import ExactChangeError
from .balances import check_balances, check_claims
from .call import Call, CallOptions, Reply, disposed, free_connection
from .claims import claims_released
from .context import PaymentContext
from .counted_swap import counted_swap
from .landing import SwapHooks
from .pay import pay_ahead, pay_for_call
from .pay_header import Payment, pay_header
from .plan import Place, Plan, make_plan, uses_of
from .quote_within import WorstPrice
from .reading import read_terms
from .reconcile.resume import resume
from .run_swap import run_swap
from .stable_terms import has_charged, stable_terms_of
from .swap_once import SwapTask
from .swap_quote import check_fit
from .top_up import keep_topped_up
from .warm import warm

R = TypeVar("R")
_FILTER_NAMES = tuple(ReceiptFilter.__annotations__)
_STATES = ("pending", "settled", "unsettled", "uncertain")


class SwapResult(NamedTuple):
    """A confirmed swap. Amounts are base units, as the chain shows them."""

    signature: str
    input_mint: str
    in_amount: str
    output_mint: str
    out_amount: str
    provider: str
    # Network and priority fee, as a decimal string of lamports.
    fee_lamports: str
    # The relayer's fee, if a relayer paid the network fee. The amounts above include it.
    relay_fee: RelayFee | None = None


class Engine:
    """The operations of one client, in one process and on at most one event loop."""

    def __init__(self, context: PaymentContext) -> None:
        self.context = context

    def answer(self, call: Call, unpaid: Reply, options: CallOptions) -> Steps[Reply]:
        """Pays for a call that was answered with 402, and returns the answer to the paid request.

        Returns the 402 itself if it is not a payment request.
        """
        context = self.context
        timeout_ms = context.config.timeouts.terms
        terms: PaymentRequired | ExactChangeError | None
        try:
            terms = yield from read_terms(unpaid, timeout_ms, call.signal)
        except ExactChangeError as unreadable:
            terms = unreadable
        except Exception:
            if call.signal is not None and call.signal.aborted:
                # A caller that has given up neither reads nor closes the answer, so close it here.
                yield from free_connection(context, unpaid)
            raise
        if terms is None:
            return unpaid
        # Nothing reads the first answer any more, so free its connection.
        yield from free_connection(context, unpaid)
        paid = yield from pay_for_call(context, call, unpaid, terms, options)
        return (yield from self._then_top_up(paid))

    def ahead(self, call: Call, options: CallOptions, host: Host) -> Steps[Reply | None] | None:
        """Pays with the first request of a call, by the terms of an earlier call.

        Returns None, or steps that return None, if the seller must be asked for its terms; nothing
        has left the wallet then. Must not be called from within a turn of the host.
        """
        context = self.context
        if not context.blockhashes.is_fresh and has_charged(context, call):
            # The origin will probably charge again, so fetch a blockhash for the payment now.
            begin(host, quiet(context.blockhashes.recent()))
        terms = stable_terms_of(context, call)
        if terms is None or not call.is_replayable:
            return None

        def paying() -> Steps[Reply | None]:
            paid = yield from pay_ahead(context, call, terms, options)
            return (yield from self._then_top_up(paid))

        return paying()

    def terms(self, reply: Reply, signal: Signal | None) -> Steps[PaymentRequired | None]:
        """Returns the payment terms of a response; None if it asks for no payment."""
        return read_terms(reply, self.context.config.timeouts.terms, signal)

    def plan(
        self, reply: Reply, url: str, method: str, is_redirected: bool, signal: Signal | None
    ) -> Steps[Plan]:
        """Returns the plan of a payment for a call; ``reply`` is the call's unpaid answer."""
        terms = yield from self.terms(reply, signal)
        yield from free_connection(self.context, reply)
        place = Place(url, method, reply.status, host_of(url), is_redirected)
        return (yield from make_plan(self.context, place, terms, signal))

    def pay(self, terms: PaymentRequired, url: str | None, signal: Signal | None) -> Steps[Payment]:
        """Signs a payment for terms, and returns its header and receipt."""
        payment = yield from pay_header(self.context, terms, url, signal)
        return (yield from self._then_top_up(payment))

    def swap(self, options: Mapping[str, Any], signal: Signal | None) -> Steps[SwapResult]:
        """Swaps without a payment, and waits for confirmation."""
        context, request = self.context, dict(options)
        counted = parse_bool("counted", request.pop("counted", False))
        worst = _read_worst(request.pop("no_worse_than", None))
        emit = context.events.emitter(context.new_id())
        yield from until_aborted(context.ready(signal), signal)
        resolved = yield from self._request(request, signal)
        hooks = SwapHooks(emit, signal)
        if counted:
            swapped = yield from counted_swap(context, resolved, hooks, worst)
        else:
            swapped = yield from run_swap(context, SwapTask(resolved, hooks, worst=worst))
        record, fee = swapped.record, str(swapped.fee_lamports)
        return SwapResult(*record[:6], fee, record.relay_fee)

    def quote(self, request: Mapping[str, Any], signal: Signal | None) -> Steps[SwapQuote]:
        """Returns a quote for a swap, checked against the request."""
        resolved = yield from self._request(request, signal)
        quote = yield from self.context.transport.quote(resolved, signal)
        check_fit(quote, resolved)
        return clean_quote(quote)

    def balance(
        self, mint: str | Sequence[str] | None, signal: Signal | None
    ) -> Steps[list[TokenBalance]]:
        """Returns the balances of the given mints, or of every token that the wallet holds."""
        config = self.context.config
        mints: list[Address] | None = None
        if mint is not None:
            names = [mint] if isinstance(mint, str) else mint
            mints = [*read_list("mint", names, partial(read_mint, network=config.network))]
        balances = yield from self.context.transport.balance(config.wallet, mints, signal)
        check_balances(balances, mints, config.network)
        yield from check_claims(self.context, balances, signal)
        return [
            balance._replace(symbol=symbol_of(config.network, balance.mint)) for balance in balances
        ]

    def receipts(self, filter_: Mapping[str, Any]) -> Steps[list[Receipt]]:
        """Returns the receipts in the journal that a filter asks for, oldest first."""
        wanted = _read_filter(filter_, self.context.config.network)
        attempts = yield from self.context.journal.attempts(
            self.context.owner, since=wanted.get("since")
        )
        receipts = [
            read_receipt(attempt["receipt"]) for attempt in attempts if "receipt" in attempt
        ]
        return [receipt for receipt in receipts if _fits(receipt, wanted)]

    def resume(self) -> Steps[list[Receipt | FreedReceipt]]:
        """Reconciles unfinished payments of earlier processes with the chain."""
        return resume(self.context)

    def spent(self) -> Steps[list[CapUse]]:
        """Returns how much of each cap is used."""
        context = self.context
        caps = context.config.policy.caps.caps
        spends: list[Attempt] = []
        # Only caps with `*` need the journal's hosts and payees.
        if any("*" in (cap.host, cap.pay_to) for cap in caps):
            spends = yield from context.journal.attempts(context.owner)
        return (yield from uses_of(context, caps_for_spends(caps, spends)))

    def warm(self) -> Steps[None]:
        """Does in advance the reads that the first payment would do."""
        yield from warm(self.context)
        yield from self._then_top_up(None)

    def close(self) -> Steps[None]:
        """Ends background work, and closes the connections."""
        self.context.close()
        yield from disposed(self.context)
        running = self.context.memory.top_up.running
        if running is not None:
            yield from settled(running)
        # Wait for writes of ended calls, so that the caller can close the journal next.
        yield from quiet(claims_released(self.context, None))
        yield from quiet(self.context.http.close())

    def _then_top_up(self, result: R) -> Steps[R]:
        yield from keep_topped_up(self.context)
        return result

    def _request(self, options: Mapping[str, Any], signal: Signal | None) -> Steps[ResolvedRequest]:
        """Returns a swap request with its amount in base units.

        The decimals of a mint that is not pinned come from the client's own node.
        """
        config, request = self.context.config, dict(check_names(options))
        ui_amount = request.pop("ui_amount", None)
        if ui_amount is None:
            return parse_swap_request(request, config)
        if "amount" in request:
            raise refuse("ui_amount", "excludes amount. Give one.")
        side = "output_mint" if request.get("swap_mode") == "ExactOut" else "input_mint"
        mint = read_mint(side, request.get(side), config.network)
        decimals = yield from self._decimals_of(mint, signal)
        units = parse_ui_amount(ui_amount, decimals)
        if units is None:
            raise refuse(
                "ui_amount",
                f'must be decimal text such as "0.25", with at most {decimals} digits after the '
                "point.",
            )
        return parse_swap_request({**request, "amount": units}, config)

    def _decimals_of(self, mint: Address, signal: Signal | None) -> Steps[int]:
        pinned = pinned_mint(self.context.config.network, mint)
        if pinned is not None:
            return pinned.decimals
        _, (account,) = yield from self.context.rpc.accounts([mint], signal=signal)
        decoded = None if account is None else decode_mint(account)
        if decoded is None:
            raise unknown_mint(mint)
        return decoded.decimals


def _read_worst(approved: ApprovedQuote | None) -> WorstPrice | None:
    if approved is None:
        return None
    fields = approved._asdict() if isinstance(approved, SwapQuote) else mapping_of(approved) or {}
    # Refuse a missing or wrong bound, because it would allow any price.
    max_in, min_out = (
        parse_amount(fields.get(name)) for name in ("max_in_amount", "min_out_amount")
    )
    if max_in is None or min_out is None:
        raise refuse("no_worse_than", "must be a quote, or its max_in_amount and min_out_amount.")
    return WorstPrice(max_in, min_out)


def _read_filter(filter_: Mapping[str, Any], network: str) -> Mapping[str, Any]:
    """Checks a filter, because a value of another form would match nothing, or everything."""
    fields = refuse_unknown(filter_, _FILTER_NAMES, "filter")
    wanted = {name: value for name, value in fields.items() if value is not None}
    for name in ("since", "until"):
        if not isinstance(wanted.get(name, 0), (int, float)):
            raise refuse(f"filter.{name}", "must be milliseconds since the epoch.")
    if wanted.get("state", _STATES[0]) not in _STATES:
        raise refuse("filter.state", f"must be one of {', '.join(_STATES)}.")
    if "host" in wanted:
        wanted["host"] = read_host("filter.host", wanted["host"])
    if "pay_to" in wanted:
        wanted["pay_to"] = read_address("filter.pay_to", wanted["pay_to"])
    if "mint" in wanted:
        wanted["mint"] = read_mint("filter.mint", wanted["mint"], network)
    return wanted


def _fits(receipt: Receipt, wanted: Mapping[str, Any]) -> bool:
    address = parse_address(receipt.url)
    actual: Mapping[str, Any] = {
        "state": receipt.state,
        "host": None if address is None else plain_host(address.host),
        "pay_to": receipt.payment.pay_to,
        "mint": receipt.payment.mint,
    }
    if any(wanted.get(name, value) != value for name, value in actual.items()):
        return False
    since, until = wanted.get("since", receipt.at), wanted.get("until", receipt.at + 1)
    return bool(since <= receipt.at < until)
