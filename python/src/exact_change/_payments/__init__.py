"""The flow of a payment: plan, reserve, swap, sign, present, reconcile."""
