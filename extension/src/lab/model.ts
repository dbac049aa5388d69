// The model of the side panel: the sessions of one notebook's kernel, and the active one of them, over a comm.
//
// The kernel opens an empty comm of our target as a sign that it has sessions; a page that comes later finds that
// comm by asking. Only then a comm of our own is opened, so that kernels that know nothing of gradviz are left alone.

import type { ISessionContext } from "@jupyterlab/apputils";
import { KernelMessage, type Kernel } from "@jupyterlab/services";
import type { JSONValue } from "@lumino/coreutils";
import { Signal } from "@lumino/signaling";

import { createLine } from "../model/answers/asking";
import { parseTrace } from "../model/document/parse";
import { marksOf } from "../model/filters/marks";
import { mismatch } from "../model/schema/protocol";
import type { Marks, Trace } from "../model/schema";
import { messageOf, readMarks } from "../model/schema/reader";

const TARGET = "gradviz";
const STARTING_OVER: Kernel.Status[] = ["starting", "restarting", "autorestarting", "dead"];

export interface Session {
  readonly id: string;
  readonly trace: Trace;
  position: number;
  marks: Marks;
  waits: boolean;
}

/** A session as the chooser has it. */
interface Listed {
  readonly id: string;
  readonly label: string;
}

/** What the kernel says; see gradviz/notebook/channel.py. */
type Message =
  | { type: "sessions"; protocol?: number; sessions: Listed[] }
  | { type: "session"; id: string; position: number; waits?: boolean; trace: string }
  | { type: "position"; id: string; position: number }
  | { type: "marks"; id: string; breakpoints: unknown; watches: unknown }
  | { type: "wait"; id: string; waits: boolean }
  | { type: "none" }
  | { type: "answer" };

export class SessionModel {
  /** All that the kernel has, the oldest first. */
  sessions: readonly Listed[] = [];
  /** The active one, null while there is none. */
  session: Session | null = null;
  /** Whether another one was chosen, and the kernel has not sent it yet. */
  isWaiting = false;
  /** What to say where the kernel is of another gradviz that speaks otherwise; empty: it is not. */
  mismatch = "";
  /** Why the session that the kernel sent cannot be shown, empty if it can. */
  problem = "";
  /** Other sessions to choose from. */
  readonly listed = new Signal<this, void>(this);
  /** Another session is active, or none. */
  readonly changed = new Signal<this, void>(this);
  /** The session was moved or marked, here or in the kernel, or a cell waits at it, or not any more: what is new. */
  readonly updated = new Signal<this, Partial<Session>>(this);
  /** Questions about the session go out here. */
  readonly line = createLine((question) => this.put(question));

  private kernel: Kernel.IKernelConnection | null = null;
  private comm: Kernel.IComm | null = null;

  constructor(readonly context: ISessionContext) {
    const attach = (): void => this.attach(context.session?.kernel ?? null);
    context.kernelChanged.connect(attach, this);
    // A kernel that starts over forgets its comms and sessions without closing them; it gives the sign anew.
    context.statusChanged.connect((_, status) => STARTING_OVER.includes(status) && this.drop(), this);
    attach();
  }

  /** The kernel that it looks at; empty: there is none. */
  get kernelId(): string {
    return this.kernel?.id ?? "";
  }

  /** Whether it cannot hear its kernel: of several notebooks on one, JupyterLab lets one do that. */
  get isDeaf(): boolean {
    return this.kernel !== null && !this.kernel.handleComms;
  }

  /** Makes another session the active one. */
  choose(id: string): void {
    if (this.comm === null || (!this.isWaiting && this.session?.id === id)) return;
    this.isWaiting = true;
    this.comm.send({ type: "choose", id });
  }

  /** Moves the session in the kernel. */
  moveTo(position: number): void {
    if (this.session === null) return;
    this.comm?.send({ type: "position", id: this.session.id, position });
    this.update(this.session.id, { position });
  }

  /** Marks breakpoints and watches of the session in the kernel. */
  mark(marks: Marks): void {
    if (this.session === null) return;
    this.comm?.send({ type: "marks", id: this.session.id, ...marks } as unknown as JSONValue);
    this.update(this.session.id, { marks });
  }

  /** Lets the cell that waits at the session go on. */
  goOn(): void {
    if (this.session !== null) this.comm?.send({ type: "go_on", id: this.session.id });
  }

  private put(question: Record<string, unknown>): void {
    if (this.session === null || this.comm === null) throw new Error("the kernel is gone");
    this.comm.send({ type: "ask", id: this.session.id, question } as unknown as JSONValue);
  }

  dispose(): void {
    this.attach(null);
    Signal.clearData(this);
  }

  private attach(kernel: Kernel.IKernelConnection | null): void {
    this.drop();
    if (this.kernel !== null && !this.kernel.isDisposed) this.kernel.removeCommTarget(TARGET, this.open);
    this.kernel = kernel;
    if (kernel === null) return;
    if (this.isDeaf) return this.changed.emit();
    kernel.registerCommTarget(TARGET, this.open);
    void this.lookForSign(kernel);
  }

  private async lookForSign(kernel: Kernel.IKernelConnection): Promise<void> {
    // By the control channel, which a kernel answers while a cell runs, or waits at a session.
    const { clientId: session, username } = kernel;
    const question = KernelMessage.createMessage({ msgType: "comm_info_request", channel: "shell", session, username, content: { target_name: TARGET } });
    const asked = { ...question, channel: "control" } as unknown as KernelMessage.IControlMessage;
    const reply = (await kernel.sendControlMessage(asked, true).done.catch(() => null)) as KernelMessage.ICommInfoReplyMsg | null;
    if (kernel !== this.kernel || reply?.content.status !== "ok") return;
    if (Object.keys(reply.content.comms).length > 0) this.open();
  }

  private readonly open = (): void => {
    if (this.kernel === null || this.isDeaf || this.comm !== null) return;
    const comm = this.kernel.createComm(TARGET);
    this.comm = comm;
    comm.onMsg = (message) => this.hear(message);
    comm.onClose = () => {
      if (this.comm === comm) this.drop();
    };
    comm.open();
  };

  private drop(): void {
    this.comm?.dispose();
    this.comm = null;
    this.line.cut();
    this.list([]);
    this.show(null);
  }

  private hear(message: KernelMessage.ICommMsgMsg): void {
    const data = message.content.data as unknown as Message;
    if (data.type === "session") this.introduce(data);
    else if (data.type === "sessions") this.list(data.sessions, mismatch("panel", data.protocol));
    else if (data.type === "position") this.update(data.id, { position: data.position });
    else if (data.type === "marks") this.update(data.id, { marks: readMarks({ breakpoints: data.breakpoints, watches: data.watches }) });
    else if (data.type === "wait") this.update(data.id, { waits: data.waits });
    else if (data.type === "answer") this.line.hear(data);
    else if (data.type === "none") this.show(null);
  }

  private introduce(message: Message & { type: "session" }): void {
    try {
      const trace = parseTrace(message.trace);
      this.show({ id: message.id, trace, position: message.position, marks: marksOf(trace), waits: message.waits === true });
    } catch (error) {
      this.show(null, messageOf(error));
    }
  }

  private update(id: string, change: Partial<Session>): void {
    if (this.session?.id !== id) return;
    Object.assign(this.session, change);
    this.updated.emit(change);
  }

  private list(sessions: readonly Listed[], mismatch = ""): void {
    this.sessions = sessions;
    this.mismatch = mismatch;
    this.listed.emit();
  }

  private show(session: Session | null, problem = ""): void {
    const same = session === this.session && problem === this.problem && !this.isWaiting;
    this.isWaiting = false;
    this.session = session;
    this.problem = problem;
    if (!same) this.changed.emit();
  }
}
