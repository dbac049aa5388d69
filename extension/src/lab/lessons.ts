// The lessons: a tile of the launcher copies them as `gradviz lab` does, by a kernel, since only Python knows where they lie, and
// opens the first one.

import type { JupyterFrontEnd } from "@jupyterlab/application";
import { Notification } from "@jupyterlab/apputils";
import type { KernelMessage } from "@jupyterlab/services";

import { messageOf } from "../model/schema/reader";

const COPY = `
from pathlib import Path
from gradviz.cli.lab import DEFAULT_FOLDER, FIRST_DEMO, copy_demos
copy_demos(Path(DEFAULT_FOLDER))
print(Path(DEFAULT_FOLDER, FIRST_DEMO).as_posix(), Path(DEFAULT_FOLDER).absolute(), sep="\\n", end="")
`;

/** Copies the lessons into a folder of the server, where those that are there stay, and opens the first one. */
export async function openLessons(app: JupyterFrontEnd, folder: string): Promise<void> {
  const opening = open(app, folder).then(() => null);
  Notification.promise(opening, {
    pending: { message: "Copying the lessons about gradients …" },
    success: { message: () => "The lessons are there.", options: { autoClose: 2000 } },
    error: { message: (reason) => `The lessons cannot be opened: ${messageOf(reason)}` },
  });
  await opening.catch(() => undefined);
}

async function open(app: JupyterFrontEnd, folder: string): Promise<void> {
  const below = (path: string): string => (folder ? `${folder}/${path}` : path);
  const [first = "", copies = ""] = (await printed(app, below("gradviz lessons"), COPY)).split("\n");
  const { contents } = app.serviceManager;
  const isThere = await contents.get(below(first), { content: false }).then(() => true, () => false);
  if (!isThere) throw new Error(`they lie in ${copies}, where this server shows no files. Open them from there.`);
  await app.commands.execute("docmanager:open", { path: below(first) });
}

/** What Python code prints in a kernel that is started for it; `path` says in which folder. */
async function printed({ serviceManager }: JupyterFrontEnd, path: string, code: string): Promise<string> {
  await serviceManager.kernelspecs.ready;
  const name = serviceManager.kernelspecs.specs?.default ?? "python3";
  const session = await serviceManager.sessions.startNew({ path, name: path, type: "console", kernel: { name } });
  try {
    const future = session.kernel?.requestExecute({ code, store_history: false, allow_stdin: false });
    if (!future) throw new Error("no kernel was started.");
    let text = "";
    future.onIOPub = ({ header, content }) => {
      if (header.msg_type === "stream" && (content as KernelMessage.IStreamMsg["content"]).name === "stdout") text += (content as KernelMessage.IStreamMsg["content"]).text;
    };
    const { content } = await future.done;
    if (content.status !== "ok") throw new Error(content.status === "error" ? `the kernel ${name} says ${content.ename}: ${content.evalue}.` : "the kernel was stopped.");
    return text;
  } finally {
    await session.shutdown();
  }
}
