// What the widget says when there is no kernel behind it any more.

import { element } from "../elements/dom";

/** The event by which a host tells a widget, somewhere inside of it, that its kernel is gone. */
export const KERNEL_LOST = "gradviz-kernel-lost";

const WORDS = "The kernel behind this is gone. Stepping goes on, over what was recorded; code in cells does not follow.";

export interface LostNotice {
  /** An empty line of text until the kernel is lost. */
  element: HTMLElement;
  readonly isLost: boolean;
  /** The kernel is lost. */
  tell(): void;
  /** Calls back when it is. */
  whenLost(listener: () => void): void;
  dispose(): void;
}

/** A notice that speaks when `tell` is called, or the event happens inside of `host`. */
export function createLostNotice(host: HTMLElement): LostNotice {
  const notice = element("div", { class: "gv-lost", role: "status" });
  const listeners: (() => void)[] = [];
  let isLost = false;

  function tell(): void {
    isLost = true;
    notice.textContent = WORDS;
    for (const listener of listeners) listener();
  }

  host.addEventListener(KERNEL_LOST, tell);
  return {
    element: notice,
    get isLost() {
      return isLost;
    },
    tell,
    whenLost: (listener) => void listeners.push(listener),
    dispose: () => host.removeEventListener(KERNEL_LOST, tell),
  };
}
