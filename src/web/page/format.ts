/** Numbers and times as people read them. */
export { dollars, thousands as short } from "../../view/numbers.js";

export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  if (h > 0) return `${h} h ${String(m).padStart(2, "0")} min`;
  return m > 0 ? `${m} min ${String(s).padStart(2, "0")} s` : `${s} s`;
}

export const between = (from: string, to: string): number => Date.parse(to) - Date.parse(from);

export const time = (at: string): string => new Date(at).toLocaleTimeString([], { hour12: false });

export const dateTime = (at: string): string =>
  new Date(at).toLocaleString([], { dateStyle: "medium", timeStyle: "short", hour12: false });

export const percent = (part: number, whole: number): number => (whole === 0 ? 0 : Math.round((part / whole) * 100));
