"""Control flow: operators that run nested nets. The runtime runs them, and the IR differentiates their nets."""

from .registry import structure

MAX_ITERATIONS = 100_000
"""How often a loop may run that does not say it itself."""

structure(
    "Do",
    "blobs... -> blobs...",
    formula="run net with inner_blobs[i] standing for outer blob outer_blobs_idx[i]; keep its workspace on scope",
    derivative="the backward pass of net, in the workspace taken off scope",
    args={
        "net": None,
        "inner_blobs": None,
        "outer_blobs_idx": None,
        "saved_fwd_blobs": None,
        "reuse_workspace": 0,
        "copy_external_blobs": 0,
    },
    doc="A net in a workspace of its own, which is kept, for the backward pass, on the scope: last input and output.",
)
structure(
    "If",
    "condition, blobs... -> blobs...",
    formula="run then_net where condition holds, else else_net",
    derivative="run the backward pass of the same branch; what only the other one reads has a gradient of zeros",
    args={"then_net": None, "else_net": None},
    doc="One of two nets, on the blobs around them. condition: one boolean.",
)
structure(
    "While",
    "condition, blobs... -> blobs...",
    formula="cond_net; while condition holds: loop_net, cond_net",
    derivative="the backward pass of loop_net for each iteration, last one first; "
    "gradients of what all iterations read are summed",
    args={"cond_net": None, "loop_net": None, "max_iterations": MAX_ITERATIONS},
    doc="A loop over nets that work on the blobs around them. condition: one boolean. It may run max_iterations times.",
)
