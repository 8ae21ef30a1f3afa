/**
 * Characters that a log, a terminal or a language model must not act on: control, direction and
 * invisible characters, line and paragraph separators, private characters, half surrogates. Tags
 * and variation selectors are invisible, and can carry whole hidden sentences.
 */
export const UNSAFE =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff0-\uffff]/gu;
