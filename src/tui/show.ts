/** Puts the screen on the terminal, and takes it away again whatever happens. */
import { render } from "ink";
import { createElement } from "react";
import { keepTerminal, LEAVE } from "./keeper.js";
import { Screen, type ScreenProps } from "./screen.js";

const ENTER = "\u001b[?1049h\u001b[?25l\u001b[H";

export interface Shown {
  /** Gives the terminal back as it was. */
  leave(): void;
}

export function showScreen(props: ScreenProps): Shown {
  const keeper = keepTerminal();
  process.stdout.write(ENTER);
  let left = false;
  const restore = () => {
    if (left) return;
    left = true;
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdout.write(LEAVE);
    keeper.left();
  };
  process.on("exit", restore);
  const drawn = render(createElement(Screen, props), {
    exitOnCtrlC: false,
    patchConsole: false,
    maxFps: 10,
  });
  return {
    leave: () => {
      drawn.unmount();
      restore();
      process.off("exit", restore);
    },
  };
}
