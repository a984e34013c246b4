/** Whoever reads our output may leave before the end (`segno logs | head`): a command then ends quietly, a run goes on. */
import { EXIT } from "./exit.js";

let goesOn = false;

export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (goesOn) return;
      if (error.code === "EPIPE") process.exit(process.exitCode ?? EXIT.done);
      throw error;
    });
}

/** From here on what happens is worth more than what is read of it. */
export const outliveReader = (): void => {
  goesOn = true;
};
