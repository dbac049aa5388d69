// A session in an output: its picture at once, the widget in its place as soon as the widget is there.
//
// A notebook that is opened again has no widget, and neither has one that is not trusted; both show the picture.

import type { IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { Panel, Widget } from "@lumino/widgets";

const SESSION = "application/vnd.gradviz.session+json";
const WIDGET = "application/vnd.jupyter.widget-view+json";
/** Renderers of a lower rank come first; the one of widgets has -10. */
const RANK = -20;

class SessionOutput extends Panel implements IRenderMime.IRenderer {
  private readonly rendermime: IRenderMimeRegistry;
  private readonly observer = new MutationObserver(() => this.choose());
  private readonly picture = new Widget();
  private live: IRenderMime.IRenderer | null = null;

  constructor(rendermime: IRenderMimeRegistry) {
    super();
    this.rendermime = rendermime;
    this.addClass("gradviz-lab-Output");
    this.picture.addClass("gradviz-lab-Picture");
    this.addWidget(this.picture);
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.draw(model);
    this.live?.dispose();
    this.live = null;
    if (!model.trusted || !(WIDGET in model.data) || !this.rendermime.getFactory(WIDGET)) return;
    const live = this.rendermime.createRenderer(WIDGET);
    this.live = live;
    live.hide();
    this.addWidget(live);
    this.observer.disconnect();
    this.observer.observe(live.node, { childList: true, subtree: true });
    await live.renderModel(model);
  }

  override dispose(): void {
    this.observer.disconnect();
    super.dispose();
  }

  /** The view of the widget says that it is there by the class of its root. */
  private choose(): void {
    const there = this.live?.node.querySelector(".gradviz") != null;
    this.live?.setHidden(!there);
    this.picture.setHidden(there);
  }

  private draw(model: IRenderMime.IMimeModel): void {
    const text = document.createElement("pre");
    text.textContent = String(model.data["text/plain"] ?? "");
    this.picture.node.replaceChildren(...pictures(model), text);
  }
}

/** The drawing for a light and for a dark page; the style sheet shows the right one. */
function pictures(model: IRenderMime.IMimeModel): HTMLImageElement[] {
  const svg = model.data["image/svg+xml"];
  if (typeof svg !== "string") return [];
  const session = model.data[SESSION] as { dark?: Record<string, string> } | null;
  const dark = Object.entries(session?.dark ?? {}).reduce((drawn, [from, to]) => drawn.replaceAll(from, String(to)), svg);
  return [picture(svg, "light"), picture(dark, "dark")];
}

function picture(svg: string, page: "light" | "dark"): HTMLImageElement {
  const image = document.createElement("img");
  // As an image, a drawing cannot run anything, whatever the notebook has in its place.
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  image.alt = "The forward and backward graph; the text beside it says the same.";
  image.className = `gradviz-lab-${page}`;
  return image;
}

/** Lets `rendermime` show sessions. One of a notebook must be given for its widgets to be found. */
export function renderSessions(rendermime: IRenderMimeRegistry): void {
  const createRenderer = (): IRenderMime.IRenderer => new SessionOutput(rendermime);
  rendermime.addFactory({ safe: true, mimeTypes: [SESSION], createRenderer }, RANK);
}
