/** What `npm run test:complete` takes beside CI's part: cases whose kind CI has another of. */
import { test } from "vitest";

export const isThorough = process.env.THOROUGH !== undefined;

export const thorough = test.skipIf(!isThorough);
