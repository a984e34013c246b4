/** What Segno itself may say: tokens, or a percentage of the window. */
import { DEFAULT_WINDOW } from "./meter.js";

export const promptBudget = (budget: number | string, window: number = DEFAULT_WINDOW): number =>
  typeof budget === "number" ? budget : Math.round((Number.parseFloat(budget) / 100) * window);
