"""The steps of a payment: plan, reserve, swap, sign, present, reconcile."""
