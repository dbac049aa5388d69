// Buttons side by side of which one is pressed: what is shown, and what could be shown in its place.

import { button, element, type Child } from "./dom";

/** How a choice looks: joined like the parts of a switch, or each for itself. */
type Shape = "gv-segments" | "gv-chips";

interface Face {
  title?: string;
  content?: Child[];
}

/** `choose` hears of a press on a button that is not pressed. */
export function createChoice<Name extends string>(
  shape: Shape,
  label: string,
  names: readonly Name[],
  face: (name: Name) => Face,
  choose: (name: Name) => void,
) {
  let shown: Name | null = null;
  const buttons = names.map((name) => {
    const { title, content = [name] } = face(name);
    return button(() => name !== shown && choose(name), { "aria-pressed": "false", "aria-label": name, title: title ?? false }, ...content);
  });
  return {
    element: element("div", { class: shape, role: "group", "aria-label": label }, ...buttons),
    /** Shows which one holds. */
    show(name: Name) {
      shown = name;
      buttons.forEach((one, index) => one.setAttribute("aria-pressed", String(names[index] === name)));
    },
  };
}
