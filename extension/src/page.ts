// The page that needs no server: the notebook widget over a document that the page itself holds.

import widget, { type Model, type State } from "./widget";

/** A model without a kernel: nobody else moves it, and nobody listens. */
function loneModel(state: State): Model {
  return {
    get: (name) => state[name],
    set: (name, value) => void (state[name] = value),
    on: () => undefined,
    off: () => undefined,
    save_changes: () => undefined,
  };
}

/** The document, which the page holds as base64 of gzip. */
async function unpack(packed: string): Promise<string> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This page needs a newer browser: Chrome or Edge 80, Firefox 113, Safari 16.4, or later ones.");
  }
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function open(main: HTMLElement, recording: HTMLElement): Promise<void> {
  try {
    const trace = await unpack(recording.textContent ?? "");
    recording.remove();
    widget.render({ model: loneModel({ trace, position: Number(recording.dataset["position"]), marks: null }), el: main });
  } catch (error) {
    const alert = document.createElement("p");
    alert.setAttribute("role", "alert");
    alert.textContent = `This recording cannot be shown. ${error instanceof Error ? error.message : String(error)}`;
    main.replaceChildren(alert);
  }
  // The keys work at once, unless the reader has been quicker.
  if (document.activeElement === document.body) main.querySelector<HTMLElement>(".gradviz")?.focus({ preventScroll: true });
}

/** The page follows the system's colours until the reader chooses. */
function offerColours(button: HTMLButtonElement): void {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const page = document.documentElement;
  const isDark = (): boolean => (page.dataset["colours"] ?? (system.matches ? "dark" : "light")) === "dark";
  const tell = (): void => button.setAttribute("aria-pressed", String(isDark()));
  button.addEventListener("click", () => {
    page.dataset["colours"] = isDark() ? "light" : "dark";
    tell();
  });
  system.addEventListener("change", tell);
  tell();
  button.hidden = false;
}

const [main, recording, button] = ["main", "#gv-recording", "#gv-colours"].map((one) => document.querySelector<HTMLElement>(one));
if (button instanceof HTMLButtonElement) offerColours(button);
if (main && recording) void open(main, recording);
