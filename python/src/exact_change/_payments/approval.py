"""Calls ``policy.approve`` with a plan of exactly what would be signed."""

from __future__ import annotations

from typing import Callable

from .._kernel.signals import Signal, check
from .._kernel.steps import bounded, hook
from .._kernel.task import Steps
from .._policy.policy import Approve
from ..errors import ExactChangeError, failure
from .context import PaymentContext
from .funds import Funding
from .plan import Plan


class Approval:
    """The approval of one payment. Approval of its swap also approves the payment after it."""

    def __init__(
        self,
        context: PaymentContext,
        plan_for: Callable[[Funding | None], Steps[Plan]],
        signal: Signal | None,
    ) -> None:
        self._context = context
        self._plan_for = plan_for
        self._signal = signal
        self._is_approved = False

    def ask(self, funding: Funding | None) -> Steps[bool]:
        """Asks whether the payment, and the swap before it, may be signed.

        Returns False if the policy has no ``approve``. Raises ``approval_refused`` if the answer is
        no.
        """
        approve = self._context.config.policy.approve
        if approve is None:
            return False
        if funding is None and self._is_approved:
            return True
        self._is_approved = yield from self._answer(approve, funding)
        if not self._is_approved:
            raise _refused(None)
        return True

    def _answer(self, approve: Approve, funding: Funding | None) -> Steps[bool]:
        context, signal = self._context, self._signal
        timeout_ms = context.config.timeouts.signer
        plan = yield from self._plan_for(funding)

        def late() -> Exception:
            return TimeoutError(
                f"policy.approve did not answer within timeouts.signer, {timeout_ms:g} ms."
            )

        try:
            answer = yield from bounded(
                timeout_ms,
                late,
                [signal, context.closing],
                lambda bounded_signal: hook(approve, plan, signal=bounded_signal),
            )
        except Exception as cause:
            check(signal)
            check(context.closing)
            raise _refused(cause)
        # Every answer except True refuses.
        return answer is True


def _refused(cause: Exception | None) -> ExactChangeError:
    return failure(
        "approval_refused",
        "Nothing more was signed, because policy.approve did not return True. Approve it there and "
        "call again.",
        {"reason": "refused"},
        cause=cause,
    )


def no_longer_approved(cause: Exception) -> ExactChangeError:
    """Returns the refusal of a swap that would take more than the approved plan says."""
    return failure(
        "approval_refused",
        "The price moved while approval was awaited, and the swap would take more than what was "
        "approved. Nothing more was signed; call again to approve it anew.",
        {"reason": "changed"},
        retry="fresh",
        cause=cause,
    )
