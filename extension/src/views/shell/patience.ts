// Says what is being opened, where that takes long enough to wonder whether anything happens.

import { element } from "../elements/dom";

/** Documents of more characters than this take a fifth of a second and more. */
const LONG = 2_000_000;

export interface Patience {
  /** Shows a text, and returns when it can be seen; shows nothing of a document that is opened at once. */
  say(text: string): Promise<void>;
  /** Takes the text away. */
  end(): void;
}

/** For a document of so many characters, above what `host` shows. */
export function createPatience(host: HTMLElement, characters: number): Patience {
  const notice = element("p", { class: "gradviz gv-opening", role: "status" });
  return {
    async say(text) {
      if (characters < LONG) return;
      notice.textContent = text;
      if (!notice.isConnected) host.prepend(notice);
      await painted();
    },
    end: () => notice.remove(),
  };
}

/** A page that nobody sees has no frames, and nobody waits for it either. */
function painted(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve);
    else requestAnimationFrame(() => setTimeout(resolve));
  });
}
