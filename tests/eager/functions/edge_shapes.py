"""Calls at the edges of functions that shape, pick or multiply: sizes of 0, no dimensions; PyTorch's beside ours."""

import numpy as np
import torch

from gradviz import functions as F
from tests.eager.functions.edge_cases import EDGES_OF_FLOATS, INF, NAN, Edge, edge

T = torch.nn.functional

NONE = np.zeros((0, 3))
SHAPING = [
    edge("reshape", lambda x: x.reshape(3, 0, 2), NONE, shape=(3, 0, 2)),
    edge("reshape", lambda x: x.reshape(1, 1), 2.0, shape=(1, 1)),
    *[
        edge(name, theirs, NONE, **options)
        for name, theirs, options in (
            ("transpose", lambda x: x.T, {}),
            ("swapaxes", lambda x: x.T, {"axis1": 0, "axis2": 1}),
            ("moveaxis", lambda x: x.T, {"source": 0, "destination": 1}),
            ("flatten", torch.ravel, {}),
            ("squeeze", lambda x: x.squeeze(), {}),
            ("expand_dims", lambda x: x.unsqueeze(1), {"axis": 1}),
            ("cumsum", lambda x: torch.cumsum(x, 1), {"axis": 1}),
            ("pad", lambda x: T.pad(x, (1, 1, 1, 1)), {"pad_width": 1}),
            ("take", lambda x: x[:, torch.tensor([2, 2])], {"indices": [2, 2], "axis": 1}),
        )
    ],
    edge("squeeze", torch.squeeze, [[[3.0]]]),
    edge("pad", torch.clone, EDGES_OF_FLOATS, about="nothing", pad_width=0),
    edge("pad", torch.clone, 2.0, about="no dims", pad_width=0),
    *[
        edge("broadcast_to", lambda x, s=shape: x.expand(s), x, shape=shape)
        for x, shape in ((np.ones((1, 3)), (0, 3)), (np.ones(()), (0,)), (NONE, (2, 0, 3)), (np.ones(3), (3,)))
    ],
    Edge(
        "broadcast",
        lambda x, y: F.add(*F.broadcast(x, y)),
        lambda x, y: torch.add(*torch.broadcast_tensors(x, y)),
        (np.ones((1, 3)), NONE),
        "to nothing",
    ),
    *[
        edge("tile", lambda x, r=reps: torch.tile(x, r), x, about=f"{np.shape(x)} {reps}", reps=reps)
        for x, reps in (
            *(([1.0, 2.0], (0,)), ([1.0, 2.0], (0, 3)), ([[1.0, 2.0]], (2, 0)), ([[1.0, 2.0]], (0, 0)), (NONE, (2, 2))),
            *((2.0, (0,)), (2.0, (3,))),
        )
    ],
    *[
        edge(
            "repeat",
            lambda x, r=times: torch.repeat_interleave(x, r, 0),
            x,
            about=f"{times} times",
            repeats=times,
            axis=0,
        )
        for x, times in (([1.0, 2.0], 0), (NONE, 2), ([[1.0], [2.0]], 0))
    ],
    *[
        Edge(name, lambda *xs, n=name: getattr(F, n)(xs, axis=0), lambda *xs, t=theirs: t(xs, 0), arrays, "empty parts")
        for name, theirs, arrays in (
            ("concat", torch.cat, (NONE, np.ones((2, 3)), NONE)),
            ("stack", torch.stack, (NONE, NONE)),
        )
    ],
    *[
        Edge(
            "split_axis",
            lambda x, s=sections, p=part: F.split_axis(x, s, 0)[p],
            lambda x, s=sections, p=part: torch.tensor_split(x, s, 0)[p],
            (np.array([1.0, 2.0, 3.0]),),
            f"{sections}[{part}]",
        )
        for sections, part in (([0], 0), ([0], 1), ([3], 1), ([2, 2], 1), ([5], 0))
    ],
    *[
        Edge("get_item", lambda x, i=index: x[i], lambda x, i=index: x[i], (np.array(EDGES_OF_FLOATS),), str(index))
        for index in (slice(0, 0), slice(-1, None), 0, ..., None)
    ],
    Edge("get_item", lambda x: x[x > 9], lambda x: x[x > 9], (np.array([1.0, 2.0]),), "an empty mask"),
    Edge("get_item", lambda x: x[()], lambda x: x[()], (np.array(2.0),), "no dims"),
    Edge(
        "embed_id",
        lambda w: F.embed_id(np.zeros((0,), int), w),
        lambda w: w[torch.zeros(0, dtype=int)],
        (np.ones((2, 3)),),
        "no ids",
    ),
]

LINEAR = [
    *[
        edge("matmul", torch.matmul, np.ones(a), np.ones(b))
        for a, b in (
            *(
                ((2, 0), (0, 3)),
                ((0, 2), (2, 3)),
                ((2, 3), (3, 0)),
                ((0,), (0,)),
                ((0, 2, 3), (3, 2)),
                ((3,), (0, 3, 2)),
            ),
            *(((2, 0), (0,)), ((0,), (0, 2)), ((1, 2, 3), (0, 3, 2))),
        )
    ],
    edge("matmul", torch.matmul, [[INF, 1.0]], [[1.0], [NAN]], about="not finite"),
    *[edge("linear", T.linear, np.ones(x), np.ones((2, 3)), np.ones(2), about=str(x)) for x in ((0, 3), (1, 3))],
    edge("linear", T.linear, np.ones((2, 0)), np.ones((3, 0)), about="no features"),
    *[
        Edge("einsum", lambda *v, e=e: F.einsum(e, *v), lambda *v, e=e: torch.einsum(e, *v), xs, f"{e} empty")
        for e, xs in (
            ("ij,jk->ik", (np.ones((2, 0)), np.ones((0, 3)))),
            ("ij->", (NONE,)),
            ("ii->i", (np.ones((0, 0)),)),
        )
    ],
]

EDGES: list[Edge] = [*SHAPING, *LINEAR]
