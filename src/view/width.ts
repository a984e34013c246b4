/** How many columns a text takes on a terminal. */
import stringWidth from "string-width";

/** One column each: Latin letters, and the signs that Segno's own lines are made of. */
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff✗·✓…‖✎▶█⇄●↳»○◆■░▇▆▅▄▃▂▁│⇢↻→⤳✔◐╎┃─⎇⋔≤⇥]*$/;

/** The library reads tables of characters when it is first asked: 10 ms, which most lines do not need. */
export const width = (text: string): number => (PLAIN.test(text) ? text.length : stringWidth(text));
