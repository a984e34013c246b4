/** `--format`: one of the forms a plan can have. */
import { bad, good, type Result } from "../engine/failure.js";
import { FORMATS, type FormatName } from "../plan/model.js";

export function readFormat(text: string | undefined): Result<FormatName | undefined> {
  if (text === undefined) return good(undefined);
  const format = FORMATS.find((candidate) => candidate === text);
  if (format !== undefined) return good(format);
  return bad({ type: "usage", what: `There is no plan format "${text}".`, fix: `Formats: ${FORMATS.join(", ")}.` });
}
