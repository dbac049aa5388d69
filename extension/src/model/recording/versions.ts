// The names of blob versions, "a@1".

/** A blob without its version. */
export function bare(version: string): string {
  return version.replace(/@[0-9]+$/, "");
}

/** The version that a nested net kept under a name of its own, since it is overwritten; any other is itself. */
export function original(version: string): string {
  return version.replace(/^(.+)\/_DO_OPERATOR_FWD_VERSION_([0-9]+)_@0$/, "$1@$2");
}
