/** What stands where the user has to write something. */
export const BLANK = "…";
