"""Asks ``policy.approve``, with a plan of exactly what would be signed."""

from __future__ import annotations

from typing import Callable

from .._kernel.signals import Signal, check
from .._kernel.steps import bounded, hook
from .._kernel.task import Steps
from .._policy.policy import Approve
from ..errors import ExactChangeError, failure, is_code
from .context import PaymentContext
from .funds import Funding
from .plan import Plan


class Approval:
    """Of one payment; never asked again for the payment of a swap that was approved with it."""

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
        """Asks whether what comes next may be signed: the payment, and the swap before it.

        False if there is no hook to ask; raises if the answer is no.
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
                lambda own: hook(approve, plan, signal=own),
            )
        except Exception as cause:
            check(signal)
            if is_code(cause, "client_closed"):
                raise
            raise _refused(cause)
        # Anything but True is a no.
        return answer is True


def _refused(cause: Exception | None) -> ExactChangeError:
    return failure(
        "approval_refused",
        "The payment was not approved by policy.approve, so it was not signed. Approve it there "
        "and call again, or leave it.",
        {"reason": "refused"},
        cause=cause,
    )


def no_longer_approved(cause: Exception) -> ExactChangeError:
    """The refusal of a swap that would take more than what was shown."""
    return failure(
        "approval_refused",
        "The price moved while approval was awaited, and the swap would take more than what was "
        "approved. Nothing was signed; call again to approve it anew.",
        {"reason": "changed"},
        retry="fresh",
        cause=cause,
    )
