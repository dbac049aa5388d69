// Whether these views and the gradviz of a kernel understand each other.

import { PROTOCOL } from "./index";

const SAYS = {
  widget: {
    isOlder: "This widget is older than the gradviz of its kernel: reload the page.",
    isNewer: "This widget is newer than the gradviz that its kernel has loaded: restart the kernel, and run the cell again.",
  },
  panel: {
    isOlder: "This side panel is older than the gradviz of the kernel: update gradviz where JupyterLab runs, and reload the page.",
    isNewer: "The gradviz of this kernel is older than this side panel: update gradviz there, and restart the kernel.",
  },
};

/** What to say where the kernel speaks another protocol than this view, or none, as before there were numbers; empty: the same. */
export function mismatch(view: keyof typeof SAYS, theirs: unknown): string {
  if (theirs === PROTOCOL) return "";
  return typeof theirs === "number" && theirs > PROTOCOL ? SAYS[view].isOlder : SAYS[view].isNewer;
}
