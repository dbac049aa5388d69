// What the widget says beside the debugger, to a person or to what is around it: that its kernel is gone, what is being opened,
// that it rests, which cells to insert.

import type { Reply } from "../../model/answers/asking";
import { element } from "../elements/dom";

/** The event by which a host tells a widget, somewhere inside of it, that its kernel is gone. */
export const KERNEL_LOST = "gradviz-kernel-lost";

/** The event of a widget that rests at a position: `still` asks for what is to be kept of it in the output. */
export const RESTED = "gradviz-rested";
export type Rested = CustomEvent<{ still: () => Promise<Reply> }>;

/** The event by which a view has its host insert cells below its own; a host that does so prevents the default. */
export const INSERT = "gradviz-insert";
export type Insert = CustomEvent<{ cells: unknown[] }>;

export const LOST = "The kernel behind this is gone. Stepping goes on, over what was recorded; code in cells does not follow.";

/** Documents of more characters than this take a fifth of a second and more. */
const LONG = 2_000_000;

/** For a document of so many characters, above what `host` shows. */
export function createPatience(host: HTMLElement, characters: number) {
  const notice = element("p", { class: "gradviz gv-opening", role: "status" });
  return {
    /** Shows a text, and returns when it can be seen; shows nothing of a document that is opened at once. */
    async say(text: string) {
      if (characters < LONG) return;
      notice.textContent = text;
      if (!notice.isConnected) host.prepend(notice);
      await painted();
    },
    end: () => notice.remove(),
  };
}

/** A page that nobody sees has no frames, and nobody waits for it either. */
export function painted(): Promise<void> {
  return new Promise((resolve) => {
    if (document.hidden) setTimeout(resolve);
    else requestAnimationFrame(() => setTimeout(resolve));
  });
}
