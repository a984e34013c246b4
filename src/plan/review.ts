/** `**Verify:** agent` in a phase's own text: an independent session judges it, whatever the configuration says. */
import type { Phase } from "./model.js";

const FIELD = /^\s*(?:[-*+]\s+)?\*\*verify(?::\*\*|\*\*:)\s*`?agent\b/im;

export const wantsReview = ({ text }: Pick<Phase, "text">): boolean => FIELD.test(text);
