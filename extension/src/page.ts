// The page that needs no server: the notebook widget over a document that the page itself holds.

import type { Question } from "./model/answers/asking";
import { missing, readPageAnswers, type Answering } from "./model/answers/page_answers";
import { messageOf } from "./model/schema/reader";
import { element } from "./views/elements/dom";
import { createPatience, painted } from "./views/shell/notices";
import widget, { SHOWN, type Model, type State } from "./widget";

/** A document has about so many characters for each that it takes in the page. */
const UNPACKED = 7;

/** A model without a kernel: nobody else moves it, and what is asked is answered from what the page holds. */
function loneModel(state: State, answering: () => Promise<Answering>) {
  const listeners = new Map<string, (message?: unknown) => void>();
  const hear = (message: unknown): void => listeners.get("msg:custom")?.(message);
  const model: Model = {
    isAlone: true,
    get: (name) => state[name],
    set: (name, value) => void (state[name] = value),
    on: (name, listener) => void listeners.set(name, listener),
    off: () => undefined,
    send(message) {
      const reply = answering().then((answer) => answer(message as unknown as Question));
      const damaged = (error: unknown) => ({ problem: `The answers in this page are damaged: ${messageOf(error)}.`, ways_out: [] });
      void reply.catch(damaged).then((body) => hear({ id: message["id"], ...body }));
    },
  };
  /** Shows another document, where the reader is. */
  function show(trace: string): void {
    state.trace = trace;
    listeners.get("change:trace")?.();
  }
  return { model, show };
}

/** The answers of the page, read with the first question; where there are none, it says so. */
function answersOf(element: HTMLElement | null): () => Promise<Answering> {
  const packed = element?.textContent;
  element?.remove();
  const read = (): Promise<Answering> => (packed == null ? Promise.resolve(missing) : unpack(packed).then(readPageAnswers));
  let answering: Promise<Answering> | null = null;
  return () => (answering ??= read());
}

/** What the page holds as base64 of gzip. */
async function unpack(packed: string): Promise<string> {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("This page needs a newer browser: Chrome or Edge 80, Firefox 113, Safari 16.4, or later ones.");
  }
  const binary = atob(packed);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = binary.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

/** `first`: a part of the recording, which is shown while the whole is read. */
async function open(main: HTMLElement, recording: HTMLElement, first: HTMLElement | null, answers: HTMLElement | null): Promise<void> {
  const packed = recording.textContent ?? "";
  const patience = createPatience(main, packed.length * UNPACKED);
  // The keys work at once, unless the reader has been quicker.
  main.addEventListener(SHOWN, () => {
    if (document.activeElement === document.body) main.querySelector<HTMLElement>("[role=region].gradviz")?.focus({ preventScroll: true });
  });
  try {
    if (!first) await patience.say("Opening …");
    const trace = await unpack(first?.textContent ?? packed);
    const { model, show } = loneModel({ trace, position: Number(recording.dataset["position"]), marks: null }, answersOf(answers));
    const shown = new Promise((resolve) => main.addEventListener(SHOWN, resolve, { once: true }));
    widget.render({ model, el: main });
    if (first) {
      await shown;
      await painted();
      show(await unpack(packed));
    }
    for (const one of [recording, first]) one?.remove();
  } catch (error) {
    main.replaceChildren(element("p", { role: "alert" }, `This recording cannot be shown. ${messageOf(error)}`));
  } finally {
    patience.end();
  }
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

const [main, recording, first, answers, button] = ["main", "#gv-recording", "#gv-first", "#gv-answers", "#gv-colours"].map((one) => document.querySelector<HTMLElement>(one));
if (button instanceof HTMLButtonElement) offerColours(button);
if (main && recording) void open(main, recording, first ?? null, answers ?? null);
