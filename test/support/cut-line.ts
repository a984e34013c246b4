/** A line to a server that can be cut, silenced and mended; one per "machine". */
import { connect, createServer, type Socket } from "node:net";
import { whenOver } from "./scratch.js";

export interface CutLine {
  port: number;
  /** Ends what is connected and refuses what comes. */
  cut(): void;
  mend(): void;
  /** What is connected hears nothing more, and is not told; what comes anew is served. */
  silence(): void;
  /** How long each direction takes. */
  delayMs: number;
  /** The next answer never arrives, or the one after so many: the question did, and then the line is cut. */
  loseNextAnswer(after?: number): void;
  lost: number;
  /**
   * Acts once, at the n-th question with these words in it: before it is sent, and then it never is; as soon as it was
   * answered, and the answer never arrives; or beside it, and nothing is lost.
   */
  atQuestion(words: string, n: number, when: Moment, act: () => void): void;
}

export type Moment = "before" | "after" | "beside";

interface Watched {
  words: string;
  left: number;
  when: Moment;
  act: () => void;
}

export async function cutLine(to: number): Promise<CutLine> {
  const pairs = new Set<Socket>();
  let isCut = false;
  let silenced = 0;
  let losesAfter: number | undefined;
  let watched: Watched | undefined;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(to, "127.0.0.1");
    const since = silenced;
    const pass = (to: Socket, data: Buffer): void => {
      if (since < silenced) return;
      if (line.delayMs === 0) return void to.write(data);
      setTimeout(() => to.destroyed || to.write(data), line.delayMs);
    };
    const end = (): void => {
      for (const socket of [near, far]) {
        socket.destroy();
        pairs.delete(socket);
      }
    };
    for (const socket of [near, far]) {
      pairs.add(socket);
      socket.on("error", end);
      socket.on("close", end);
    }
    let asked = "";
    let acts: (() => void) | undefined;
    near.on("data", (data) => {
      asked += data.toString("latin1");
      const found =
        watched !== undefined && asked.includes(watched.words) && --watched.left === 0 ? watched : undefined;
      // Words may come in two pieces, and are counted once.
      asked = watched === undefined || asked.includes(watched.words) ? "" : asked.slice(-watched.words.length);
      if (found !== undefined) {
        watched = undefined;
        if (found.when === "before") {
          found.act();
          return end();
        }
        if (found.when === "after") acts = found.act;
        else found.act();
      }
      pass(far, data);
    });
    far.on("data", (data) => {
      if (acts !== undefined) {
        acts();
        return end();
      }
      if (losesAfter === undefined || losesAfter-- > 0) return pass(near, data);
      losesAfter = undefined;
      line.lost++;
      end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  whenOver(() => {
    for (const socket of pairs) socket.destroy();
    server.close();
  });
  const line: CutLine = {
    port: (server.address() as { port: number }).port,
    lost: 0,
    delayMs: 0,
    silence: () => {
      silenced++;
    },
    cut: () => {
      isCut = true;
      for (const socket of pairs) socket.destroy();
    },
    mend: () => {
      isCut = false;
    },
    loseNextAnswer: (after = 0) => {
      losesAfter = after;
    },
    atQuestion: (words, n, when, act) => {
      watched = { words, left: n, when, act };
    },
  };
  return line;
}
