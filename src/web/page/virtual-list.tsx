/** A list of which only the visible part is in the page: a phase may have ten thousand tool calls. */
import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";

const ROW = 26;
const AROUND = 20;

export function VirtualList<T>({
  items,
  label,
  row,
}: {
  items: readonly T[];
  label: string;
  row: (item: T, index: number) => ComponentChildren;
}) {
  const place = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = Math.min(420, Math.max(ROW, items.length * ROW));
  const first = Math.max(0, Math.floor(top / ROW) - AROUND);
  const shown = items.slice(first, first + Math.ceil(height / ROW) + AROUND * 2);
  return (
    <div
      ref={place}
      class="virtual"
      style={{ height: `${height}px` }}
      tabIndex={0}
      role="group"
      aria-label={`${label}, ${items.length} entries`}
      onScroll={() => setTop(place.current?.scrollTop ?? 0)}
    >
      <div style={{ height: `${items.length * ROW}px`, position: "relative" }}>
        {shown.map((item, index) => (
          <div key={first + index} class="row" style={{ top: `${(first + index) * ROW}px`, height: `${ROW}px` }}>
            {row(item, first + index)}
          </div>
        ))}
      </div>
    </div>
  );
}
