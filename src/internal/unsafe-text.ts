/**
 * Control characters, what directs text or does not show (tags and variation selectors can carry
 * whole hidden sentences), line and paragraph separators, private characters, half surrogates:
 * nothing a log, a terminal or a language model should act on.
 */
export const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff0-\uffff]/gu;
