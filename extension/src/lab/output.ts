// A session in an output: its picture at once, the widget in its place as soon as the widget is there.
//
// A notebook that is opened again has no widget, and neither has one that is not trusted; both show the picture.

import type { ISessionContext } from "@jupyterlab/apputils";
import { MimeModel, type IRenderMimeRegistry } from "@jupyterlab/rendermime";
import type { IRenderMime } from "@jupyterlab/rendermime-interfaces";
import { JSONExt, type PartialJSONObject, type ReadonlyPartialJSONValue } from "@lumino/coreutils";
import { Panel, Widget } from "@lumino/widgets";

import { Signal } from "@lumino/signaling";

import { element } from "../views/elements/dom";
import { KERNEL_LOST, RESTED, type Rested } from "../views/shell/notices";

const SESSION = "application/vnd.gradviz.session+json";
const WIDGET = "application/vnd.jupyter.widget-view+json";
/** What a kernel is when its memory, and the session in it, is gone. */
const ENDED = ["restarting", "autorestarting", "terminating", "dead"];
/** Renderers of a lower rank come first; the one of widgets has -10. */
const RANK = -20;

/** What our own type says, beside the other types of the output. */
interface SessionData {
  /** The session's, while its kernel lives. */
  id?: string;
  /** The colours of the light picture and what they are in a dark one. */
  dark?: Record<string, string>;
  /** What the type of widgets said before it was taken out of the output. */
  widget?: ReadonlyPartialJSONValue;
}

/** What is shown of sessions in the outputs of notebooks. */
export class Displays {
  /** A person clicked, or went by keys, into the widget of a session. */
  readonly clicked = new Signal<this, { context: ISessionContext; id: string }>(this);
  /** Sessions are shown that were not, or not any more. */
  readonly changed = new Signal<this, void>(this);
  private readonly outputs = new Set<SessionOutput>();

  /** Whether some output shows a session. */
  has(id: string): boolean {
    return [...this.outputs].some((output) => output.session === id);
  }

  /** Takes an output in, until it is disposed of. */
  add(output: SessionOutput, context: ISessionContext): void {
    const click = (): void => {
      if (output.session) this.clicked.emit({ context, id: output.session });
    };
    output.node.addEventListener("pointerdown", click, { capture: true });
    output.node.addEventListener("focusin", click);
    this.outputs.add(output);
    output.rendered.connect(() => this.changed.emit());
    output.disposed.connect(() => {
      this.outputs.delete(output);
      this.changed.emit();
    });
  }
}

class SessionOutput extends Panel implements IRenderMime.IRenderer {
  private readonly observer = new MutationObserver(() => this.choose());
  private readonly picture = new Widget();
  private model: IRenderMime.IMimeModel | null = null;
  private live: IRenderMime.IRenderer | null = null;
  private maker: IRenderMime.IRendererFactory | undefined;
  private widget: ReadonlyPartialJSONValue | undefined;

  constructor(private readonly rendermime: IRenderMimeRegistry, context?: ISessionContext) {
    super();
    // The renderer of widgets is exchanged for one that finds them once the notebook's session is ready.
    context?.statusChanged.connect(this.enliven, this);
    context?.statusChanged.connect((_, status) => ENDED.includes(status) && this.mourn());
    context?.kernelChanged.connect((_, { oldValue }) => oldValue && this.mourn());
    this.node.addEventListener(RESTED, (event) => void this.keepStill(event as Rested));
    this.addClass("gradviz-lab-Output");
    this.picture.addClass("gradviz-lab-Picture");
    this.addWidget(this.picture);
  }

  /** It shows another session. */
  readonly rendered = new Signal<this, void>(this);

  /** The id of the session that it shows; empty: it is older than ids are. */
  get session(): string {
    return (this.model && sessionData(this.model).id) ?? "";
  }

  renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.model = model;
    this.draw(model);
    this.enliven();
    this.rendered.emit();
    return Promise.resolve();
  }

  override dispose(): void {
    this.observer.disconnect();
    super.dispose();
  }

  /** Starts the widget out of sight; anew if it is another one, or another renderer has come to make it. */
  private enliven(): void {
    const widget = this.model?.trusted ? (this.model.data[WIDGET] ?? sessionData(this.model).widget) : undefined;
    const maker = widget === undefined ? undefined : this.rendermime.getFactory(WIDGET);
    if (maker === this.maker && JSONExt.deepEqual(widget ?? null, this.widget ?? null)) return;
    this.maker = maker;
    this.widget = widget;
    this.observer.disconnect();
    this.live?.dispose();
    this.live = null;
    this.choose();
    if (maker === undefined || widget === undefined) return;
    const live = (this.live = this.rendermime.createRenderer(WIDGET));
    live.hide();
    this.addWidget(live);
    this.observer.observe(live.node, { childList: true, subtree: true });
    // It waits for the kernel, perhaps for ever.
    void live.renderModel(new MimeModel({ data: { [WIDGET]: widget }, trusted: true }));
  }

  /** Tells the widget that its kernel is gone: on its own it would not notice. */
  private mourn(): void {
    this.live?.node.querySelector(".gradviz")?.dispatchEvent(new Event(KERNEL_LOST, { bubbles: true }));
  }

  /** Shows the widget if it is there, which its view says by the class of its root. */
  private choose(): void {
    const there = this.live?.node.querySelector(".gradviz") != null;
    this.live?.setHidden(!there);
    this.picture.setHidden(there);
    if (there) this.keepReadable();
  }

  /**
   * Takes the widget's own type out of the output, now that ours leads to the widget: whoever reads the saved notebook
   * without widgets (a converter, a viewer, another editor) then finds the picture and not the place of a lost widget.
   */
  private keepReadable(): void {
    if (this.model === null || !(WIDGET in this.model.data)) return;
    const { [WIDGET]: widget, ...rest } = this.model.data;
    this.model.setData({ data: { ...rest, [SESSION]: { ...sessionData(this.model), widget } } });
  }

  /** Lets the output, and the notebook that is saved with it, show the position at which the widget rests. */
  private async keepStill({ detail }: Rested): Promise<void> {
    const reply = await detail.still();
    const still = "blocks" in reply ? (reply.data as PartialJSONObject | null) : null;
    if (this.isDisposed || !this.model || !still) return;
    this.model.setData({ data: { ...still, [SESSION]: { ...(still[SESSION] as SessionData), widget: sessionData(this.model).widget } } });
  }

  private draw(model: IRenderMime.IMimeModel): void {
    const isWidget = (model.data[WIDGET] ?? sessionData(model).widget) !== undefined;
    const note = isWidget ? [element("p", { class: "gradviz-lab-StepOn" }, "Run this cell to step on.")] : [];
    this.picture.node.replaceChildren(...note, ...pictures(model), element("pre", {}, String(model.data["text/plain"] ?? "")));
  }
}

function sessionData(model: IRenderMime.IMimeModel): SessionData {
  return (model.data[SESSION] ?? {}) as SessionData;
}

/** The drawing for a light and for a dark page; the style sheet shows the right one. */
function pictures(model: IRenderMime.IMimeModel): HTMLImageElement[] {
  const svg = model.data["image/svg+xml"];
  if (typeof svg !== "string") return [];
  const dark = Object.entries(sessionData(model).dark ?? {}).reduce((drawn, [from, to]) => drawn.replaceAll(from, String(to)), svg);
  return [picture(svg, "light"), picture(dark, "dark")];
}

function picture(svg: string, page: "light" | "dark"): HTMLImageElement {
  // As an image, a drawing cannot run anything, whatever the notebook has in its place.
  const src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  return element("img", { src, alt: "The forward and backward graph; the text beside it says the same.", class: `gradviz-lab-${page}` });
}

/** Lets `rendermime` show sessions. Widgets live in notebooks: theirs comes with the context of its kernel. */
export function renderSessions(rendermime: IRenderMimeRegistry, displays: Displays, context?: ISessionContext): void {
  const createRenderer = (): IRenderMime.IRenderer => {
    const output = new SessionOutput(rendermime, context);
    if (context) displays.add(output, context);
    return output;
  };
  rendermime.addFactory({ safe: true, mimeTypes: [SESSION], createRenderer }, RANK);
}
