// A drag: what the pointer does while it is down.

/** Reports how far the pointer moved while it is down. A press that moves less than 4 pixels stays a click. */
export function drag(pane: HTMLElement, moved: (right: number, down: number) => void): void {
  let last: { x: number; y: number } | null = null;
  pane.addEventListener("pointerdown", (event) => {
    last = event.button === 0 ? { x: event.clientX, y: event.clientY } : null;
  });
  pane.addEventListener("pointermove", (event) => {
    if (!last || event.buttons === 0) return;
    const step = { x: event.clientX - last.x, y: event.clientY - last.y };
    if (!pane.hasPointerCapture(event.pointerId)) {
      if (Math.hypot(step.x, step.y) < 4) return;
      pane.setPointerCapture(event.pointerId);
    }
    last = { x: event.clientX, y: event.clientY };
    moved(step.x, step.y);
  });
  pane.addEventListener("pointerup", () => (last = null));
  pane.addEventListener("pointercancel", () => (last = null));
}
