/**
 * One journal line: a JSON event whose last key is a checksum over the line before it and its own text, so that a
 * flipped bit, a lost line and a torn end are all found, and every line stays plain JSON for other tools.
 */
import { crc32 } from "node:zlib";

const TAIL = /^(.*),"sum":"([0-9a-f]{8})"\}$/s;

/** `json`: the event as JSON. */
export function encodeLine(json: string, previousSum: string): { line: string; sum: string } {
  const body = json.slice(0, -1);
  const sum = checksum(body, previousSum);
  return { line: `${body},"sum":"${sum}"}\n`, sum };
}

/** Of whatever version it is; undefined where the line is not what was written. */
export function decodeLine(
  line: string,
  previousSum: string,
): { event: { v: number; seq: number }; sum: string } | undefined {
  const match = TAIL.exec(line);
  if (match === null) return undefined;
  const [, body, sum] = match as unknown as [string, string, string];
  if (checksum(body, previousSum) !== sum) return undefined;
  return { event: JSON.parse(`${body}}`) as { v: number; seq: number }, sum };
}

const checksum = (body: string, previousSum: string): string =>
  crc32(`${previousSum}${body}`).toString(16).padStart(8, "0");
