// In the status bar: where the session in use stands. A click brings up the side panel.

import type { IStatusBar } from "@jupyterlab/statusbar";
import { Widget } from "@lumino/widgets";

import { button } from "../views/elements/dom";
import type { Current } from "./current";

/** Adds the item, which is there while there is a session; `show` brings up the side panel. */
export function addStatus(bar: IStatusBar, current: Current, show: () => void): void {
  const text = button(show, { class: "gradviz-lab-Status" });
  const place = (): { position: number; length: number } | null => current.body?.place ?? null;
  const item = new Widget();
  item.node.append(text);
  bar.registerStatusItem("gradviz:position", { item, align: "left", rank: 20, isActive: () => place() !== null, activeStateChanged: current.changed });
  current.changed.connect(() => {
    const at = place();
    if (at === null) return;
    text.textContent = `∇ ${at.position} / ${at.length}`;
    text.title = `Gradients of ${current.label}: event ${at.position} of ${at.length}`;
  });
}
