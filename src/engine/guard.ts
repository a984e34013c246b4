/**
 * Who may come in: requests to this machine's own address, from nowhere else on the web, with a token. A person's
 * browser brings it once, in the link that was opened, and from then on as a cookie that no other site can send.
 */
import { timingSafeEqual } from "node:crypto";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";

export type Caller = { as: "user" } | { as: "session"; session: string };
export type Guarded = { Variables: { caller: Caller } };
/** What the web page adds to the door. */
export interface PageRoutes {
  /** Lets pages that are open see the end. */
  drain(): Promise<void>;
}

export type Refuse = (c: Context, status: 401 | 403, why: string) => Response;

export function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Cookies know no ports: two servers of one machine must not share a name. */
const cookieName = (host: string): string => `segno_${host.split(":")[1] ?? ""}`;

export interface GuardOptions {
  token: string;
  refuse: Refuse;
  /** Who else a token may speak for. */
  session?: ((token: string) => Caller | { stale: string } | undefined) | undefined;
}

export function guard({ token, refuse, session }: GuardOptions): MiddlewareHandler<Guarded> {
  return async (c, next) => {
    const host = c.req.header("host") ?? "";
    if (!/^(127\.0\.0\.1|localhost):\d+$/.test(host)) return refuse(c, 403, "the request names another host");
    const origin = c.req.header("origin");
    if (origin !== undefined && origin !== `http://${host}`)
      return refuse(c, 403, "the request comes from another site");
    const link = c.req.method === "GET" && c.req.path === "/" ? c.req.query("token") : undefined;
    if (link !== undefined) {
      if (!same(link, token)) return refuse(c, 401, "a wrong token");
      setCookie(c, cookieName(host), token, { httpOnly: true, sameSite: "Strict", path: "/" });
      return c.redirect("/");
    }
    const cookie = getCookie(c, cookieName(host));
    if (cookie !== undefined && same(cookie, token)) {
      // What a browser sends by itself may only read, unless our own page asked for more.
      if (c.req.method !== "GET" && origin === undefined) return refuse(c, 403, "the request does not say from where");
      c.set("caller", { as: "user" });
      return next();
    }
    const given = /^Bearer (\w+)$/.exec(c.req.header("authorization") ?? "")?.[1];
    if (given === undefined) return refuse(c, 401, "no token");
    if (same(given, token)) c.set("caller", { as: "user" });
    else {
      const other = session?.(given);
      if (other === undefined) return refuse(c, 401, "a wrong token");
      if ("stale" in other) return refuse(c, 401, other.stale);
      c.set("caller", other);
    }
    return next();
  };
}
