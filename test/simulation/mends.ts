/** A mend that can be taken back: exact text of a file as it stands, and as it was before. */
export interface Mend {
  readonly name: string;
  readonly changes: readonly { readonly file: string; readonly now: string; readonly before: string }[];
}

export const mends: readonly Mend[] = [];
