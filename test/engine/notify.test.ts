/** Notifications: sent, and never in the way. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { configSchema } from "../../src/config/schema.js";
import { planFiles } from "../support/plans.js";
import { rehearse } from "../support/rehearsal.js";
import { scratchFolder, scratchRepo, whenOver } from "../support/scratch.js";

test("a command, a webhook and ntfy are told; ones that fail are said once, and the run goes on", async () => {
  const got: { path: string; body: string; headers: Record<string, unknown> }[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (data) => {
      body += data;
    });
    request.on("end", () => {
      got.push({ path: request.url ?? "", body, headers: request.headers });
      response.statusCode = request.url === "/broken" ? 500 : 200;
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  whenOver(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const file = join(scratchFolder(), "told");
  // What a plan says must never become part of a command.
  const title = 'Evil $(touch hacked) `touch hacked` "; touch hacked';
  const repo = scratchRepo(planFiles([{ id: "1", title, gates: ["echo the reason of it; false"] }]));
  const run = await rehearse({
    repo,
    config: {
      max_remediations: 0,
      notify: [
        {
          on: ["failed", "finished"],
          command: `printf '%s|%s|%s\\n' "$SEGNO_EVENT" "$SEGNO_PHASE" "$SEGNO_TITLE" >> ${file}; cat >> ${file}.json`,
        },
        { on: ["finished"], webhook: `${url}/hook` },
        { on: ["failed"], ntfy: `${url}/topic` },
        { on: ["failed", "finished"], webhook: `${url}/broken` },
        { on: ["finished"], command: "exit 3" },
        { on: ["question"], command: `touch ${file}.never` },
      ],
    },
  });
  expect(run.status).toBe("failed");
  // They are sent at once: on a busy machine the second may be the quicker one.
  const lines = readFileSync(file, "utf8").trim().split("\n").toSorted();
  expect(lines).toEqual(["failed|1|Test plan: phase 1 failed", "finished||Test plan: failed"]);
  expect(readFileSync(`${file}.json`, "utf8")).toContain('"event":"failed"');
  expect(JSON.parse(got.find(({ path }) => path === "/hook")?.body ?? "{}")).toMatchObject({
    event: "finished",
    plan: "PLAN.md",
  });
  const ntfy = got.find(({ path }) => path === "/topic");
  expect(ntfy?.body).toContain("gate_failed");
  expect(ntfy?.body).toContain("the reason of it");
  expect(ntfy?.headers.title).toBe("Test plan: phase 1 failed");
  const warned = run.of("warned").map((event) => event.message);
  expect(warned.filter((message) => message.includes("the server answered 500"))).toHaveLength(1);
  expect(warned.filter((message) => message.includes("it ended with 3"))).toHaveLength(1);
});

test("an entry has exactly one way, and knows its events", () => {
  const notify = (entry: object) => configSchema.safeParse({ notify: [entry] }).success;
  expect(notify({ desktop: true })).toBe(true);
  expect(notify({ on: ["limit"], webhook: "https://example.org/x" })).toBe(true);
  expect(notify({})).toBe(false);
  expect(notify({ desktop: true, command: "x" })).toBe(false);
  expect(notify({ on: ["everything"], command: "x" })).toBe(false);
  expect(notify({ webhook: "file:///etc/passwd" })).toBe(false);
});
