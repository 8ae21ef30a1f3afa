import { ProtocolError, type ExactChangeError, type OfferRefusal } from '../../errors.js';

const ELSEWHERE: readonly string[] = ['unsupported_network', 'unsupported_offer'];

/**
 * Returns the error if no offer is payable: the reason of the only offer for this network and
 * scheme, else `no_payable_offer` with all reasons.
 */
export function nothingPayable(
  refused: ReadonlyMap<number, ExactChangeError>,
  offers: readonly OfferRefusal[],
): ExactChangeError {
  const errors = [...refused.values()];
  const ours = errors.filter(({ code }) => !ELSEWHERE.includes(code));
  const only = ours.length === 1 ? ours[0] : errors.length === 1 ? errors[0] : undefined;
  if (only !== undefined) return only;
  const reason = (ours[0] ?? errors[0])?.message ?? '';
  return new ProtocolError(
    'no_payable_offer',
    `None of the ${offers.length} offers can be paid. ${reason} Each offer's reason is in details.offers.`,
    {
      details: { offers },
      ...(ours[0] === undefined ? {} : { cause: ours[0] }),
    },
  );
}
