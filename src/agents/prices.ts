/** What models cost, whoever uses them: each maker's agent knows its own. */
import type { Price } from "../context/prices.js";
import { priceOf as claudePrice } from "./claude/models.js";
import { priceOf as codexPrice } from "./codex/models.js";

export const priceOf = (model: string): Price | undefined => claudePrice(model) ?? codexPrice(model);
