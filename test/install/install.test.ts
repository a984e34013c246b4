/**
 * As a new user: the package is packed, installed into an empty prefix, and used with an empty HOME and nothing but node,
 * npm and git. The commands are those of the README, read from it.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { git, scratchFolder } from "../support/scratch.js";

const TOP = fileURLToPath(new URL("../..", import.meta.url));
const README = readFileSync(join(TOP, "README.md"), "utf8");
const blocks = [...README.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block]) => (block ?? "").trim().split("\n"));
const bare = (line: string): string => line.replace(/\s+#.*$/, "");

/** A PATH with node, npm and git, and no agent. */
function plainPath(folder: string): string {
  const bin = join(folder, "bin");
  mkdirSync(bin, { recursive: true });
  for (const name of ["node", "npm", "git"]) {
    const found = spawnSync("/bin/sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).stdout.trim();
    if (found.startsWith("/")) symlinkSync(found, join(bin, name));
  }
  // What every machine has: a shell, ls, wc and the like.
  return `${bin}:/usr/bin:/bin`;
}

interface User {
  home: string;
  prefix: string;
  env: Record<string, string>;
  run(command: string, cwd: string): { code: number | null; out: string };
}

function newUser(): User {
  const folder = scratchFolder();
  const [home, prefix] = [join(folder, "home"), join(folder, "prefix")];
  mkdirSync(home);
  // How packages are had is the machine's; nothing else of its settings is.
  const registry = join(process.env.HOME ?? "", ".npmrc");
  if (existsSync(registry)) writeFileSync(join(home, ".npmrc"), readFileSync(registry));
  const certificates = process.env.NODE_EXTRA_CA_CERTS;
  const env = {
    PATH: `${join(prefix, "bin")}:${plainPath(folder)}`,
    HOME: home,
    npm_config_prefix: prefix,
    npm_config_cache: join(folder, "cache"),
    ...(certificates === undefined ? {} : { NODE_EXTRA_CA_CERTS: certificates }),
  };
  return {
    home,
    prefix,
    env,
    run: (command, cwd) => {
      const { status, stdout, stderr } = spawnSync("/bin/sh", ["-c", command], { cwd, env, encoding: "utf8" });
      return { code: status, out: `${stdout}${stderr}` };
    },
  };
}

/** A small project of a new user's: its test fails until the plan is done. */
function project({ env }: User): string {
  const repo = join(scratchFolder(), "shop");
  mkdirSync(join(repo, "test"), { recursive: true });
  const write = (path: string, content: string) => writeFileSync(join(repo, path), content);
  write(
    "package.json",
    JSON.stringify({ name: "shop", type: "module", scripts: { test: "node --test test/" } }, null, 2),
  );
  write(
    "test/price.test.js",
    'import { existsSync } from "node:fs";\nimport { test } from "node:test";\nimport assert from "node:assert";\ntest("there", () => assert(existsSync("lib/price.js") && existsSync("lib/tax.js")));\n',
  );
  write(
    "NOTES.md",
    "# Prices\n\n## The library\n\n- Create `lib/price.js`\n- Create `lib/tax.js`\n\n## Words\n\n- Create `docs/prices.md`\n",
  );
  execFileSync("git", ["init", "--quiet", "--initial-branch=main"], { cwd: repo });
  const identity = ["-c", "user.name=New", "-c", "user.email=new@user.invalid"];
  execFileSync("git", [...identity, "add", "."], { cwd: repo });
  execFileSync("git", [...identity, "commit", "--quiet", "-m", "start"], {
    cwd: repo,
    env: { ...env, ...process.env },
  });
  return repo;
}

describe("the package", () => {
  let tarball = "";

  beforeAll(() => {
    const folder = scratchFolder();
    const checkout = join(folder, "segno");
    // A clean clone: what is built in this one does not help.
    execFileSync("git", ["clone", "--quiet", TOP, checkout]);
    const said = execFileSync("/bin/sh", ["-c", blocks[0]?.[0] ?? ""], { cwd: checkout, encoding: "utf8" });
    tarball = join(checkout, said.trim().split("\n").at(-1) ?? "");
    expect(existsSync(tarball)).toBe(true);
    expect(blocks[0]?.[1]).toBe(`npm install -g ./${tarball.slice(dirname(tarball).length + 1)}`);
  }, 900_000);

  test("installed, the README's way leads from notes to a finished rehearsal, and no step is missing from it", () => {
    const user = newUser();
    const installed = user.run(blocks[0]?.[1] ?? "", dirname(tarball));
    expect(installed.code, installed.out).toBe(0);
    expect(user.run("segno rehearse --example", scratchFolder()).out).toContain("12 tasks done by the stand-in model");
    const repo = project(user);
    // The way itself is the second block: init, rehearse, run.
    const [init, rehearse, run] = (blocks[1] ?? []).map(bare) as [string, string, string];
    expect([init, rehearse, run]).toEqual(["segno init", "segno rehearse", "segno run"]);
    const refused = user.run(rehearse, repo);
    expect(refused.code).toBe(2);
    expect(refused.out).toContain("segno init --from");
    const made = user.run(`${init} --from NOTES.md`, repo);
    expect(made.code, made.out).toBe(0);
    expect(made.out).toContain("gate     npm test (package.json:");
    const rehearsed = user.run(rehearse, repo);
    expect(rehearsed.code, rehearsed.out).toBe(0);
    expect(rehearsed.out).toMatch(/tests \(phase 1, 2\): passed, and failed before the first phase/);
    expect(rehearsed.out).toContain("3 tasks done by the stand-in model, 0 of them more than once");
    // A real run is refused with the next command, one after the other.
    const nameless = user.run(run, repo);
    expect([nameless.code, nameless.out]).toEqual([2, expect.stringContaining("git config user.name")]);
    expect(user.run('git config user.name "Your Name" && git config user.email you@example.com', repo).code).toBe(0);
    expect(user.run(run, repo).out).toContain("--permission-mode");
    expect(user.run(`${run} --permission-mode edits`, repo).out).toMatch(/not logged in[\s\S]*segno rehearse/);
    expect(git(repo, "status", "--porcelain", "--untracked-files=no")).toBe("");
  });

  test("without what is optional everything that needs no agent works, and what is missing is said with the command", () => {
    const user = newUser();
    const installed = user.run(`${blocks[0]?.[1]} --cpu=none`, dirname(tarball));
    expect(installed.code, installed.out).toBe(0);
    const repo = project(user);
    for (const command of ["segno --help", "segno init --from NOTES.md", "segno audit", "segno config", "segno runs"]) {
      const ran = user.run(command, repo);
      expect(ran.code, `${command}\n${ran.out}`).toBe(0);
    }
    const missing = user.run("segno rehearse", repo);
    expect(missing.code).not.toBe(0);
    expect(missing.out).toContain("npm install -g @anthropic-ai/claude-code");
  });

  test("ships every document that its README links to", () => {
    const listed = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" }).split("\n");
    const links = [...README.matchAll(/\]\(([^)#]+)\)/g)].map(([, path]) => path ?? "");
    expect(links.length).toBeGreaterThan(15);
    expect(links.filter((path) => !path.startsWith("http") && !listed.includes(`package/${path}`))).toEqual([]);
  });
});
