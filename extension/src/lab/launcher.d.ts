// What is used of JupyterLab's launcher, which JupyterLab brings.
declare module "@jupyterlab/launcher" {
  import type { IDisposable } from "@lumino/disposable";
  import type { Token } from "@lumino/coreutils";

  export interface ILauncher {
    add(item: { command: string; category?: string; args?: { in: "tile" } }): IDisposable;
  }
  export const ILauncher: Token<ILauncher>;
}
