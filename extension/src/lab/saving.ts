// Saves the session of a kernel in a file beside its notebook, as a recording, a page or a notebook.

import { InputDialog, Notification } from "@jupyterlab/apputils";

import { problemIn, type Reply } from "../model/answers/asking";
import type { DebuggerPanel } from "./panel";

export const FORMS = {
  recording: { words: "Recording", ending: ".gradviz.json" },
  page: { words: "Page", ending: ".html" },
  notebook: { words: "Notebook", ending: ".ipynb" },
};
export type Form = keyof typeof FORMS;

/** Asks for a name, and says how it went. */
export async function save({ model }: DebuggerPanel, form: Form): Promise<void> {
  const session = model?.session;
  if (!model || !session) return;
  const { words, ending } = FORMS[form];
  const stem = session.trace.name.replace(/[^\p{L}\p{N}._-]+/gu, "-") || "recording";
  const { value, isChecked } = await InputDialog.getText({
    title: `Save Gradients as ${words}`,
    label: "File, in the folder of the notebook",
    text: stem + ending,
    selectionRange: stem.length,
    okLabel: "Save",
    checkbox: { label: "Replace a file of this name" },
  });
  if (!value) return;
  tell(await model.line.ask({ question: "save", arguments: [form, value, isChecked ? 1 : 0], position: session.position }));
}

function tell(reply: Reply): void {
  if ("blocks" in reply) {
    Notification.success(reply.blocks.map((block) => (block.kind === "paragraph" ? block.text : "")).join(" "), { autoClose: 5000 });
    return;
  }
  Notification.error(problemIn(reply));
  void reply.late?.then(tell);
}
