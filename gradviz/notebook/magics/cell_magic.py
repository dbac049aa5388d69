"""The magic of cells: operators run as they are added to a net; of other code the backward pass is recorded."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from keyword import iskeyword
from types import ModuleType
from typing import Any

from ...bridges import bridge_in_use
from ...eager import Variable
from ...program import Device, GradvizError, Operator
from ...program.errors import listed, meant, shorten
from ...runtime.devices import available
from .net_cells import NetCells
from .usage import misused, show

OPTIONS = ("--net", "--ys", "--device")

NAMED = "Or name one that is there: %%gradviz --ys loss."


class CellMagic:
    """`%%gradviz`.

    Args:
        shell: IPython.
        package: gradviz itself, for what stands above this room.
    """

    def __init__(self, shell: Any, package: ModuleType) -> None:
        self._shell = shell
        self._package = package
        self._nets = NetCells(shell.user_ns, package)

    def gradviz(self, line: str, cell: str) -> None:
        """Run a cell, operator by operator where it adds operators to a net, and show its backward pass.

        In the cell `net` is the net NAME, a variable that is made where it is not there. What the cell adds runs at
        once, and goes on where the last cell with this net has stopped; what no operator writes is read from variables
        of the same name, or from a Workspace. With --ys the backward pass begins, and %step runs its next operator;
        the pass is the variable NAME_live. `net = gradviz.Net("NAME")` in a cell begins anew.

        Of a cell that adds nothing, such as one of PyTorch, the backward pass from the variable --ys is recorded;
        without --ys from what the last expression gives, or from the only scalar of the cell that has a gradient.

        Usage: %%gradviz [--net NAME] [--ys loss] [--device cuda:0]
        Example: %%gradviz --net mlp --ys loss
        """
        options = _options(line)
        is_named, name = "--net" in options, options.get("--net", "net")
        device = options.get("--device")
        if (parsed := Device.parse(device)) is not None:
            available(parsed)
        ys, variables = [y for y in options.get("--ys", "").split(",") if y], dict(self._shell.user_ns)
        result, net, before = self._run(cell, name, self._net(name, is_named))
        if net is None or not (is_named or len(net.ops) > len(before)):
            if device is not None:
                raise misused("--device is of operators that a cell adds to a net, and this one adds none.")
            debug = partial(self._package.debug, self._start(ys, result, variables))
            show(eval("_debug()", self._shell.user_ns, {"_debug": debug}))  # from there variables name what they hold
            return
        self._shell.user_ns[name] = net
        live = self._nets.run(name, net, before, ys, device)
        if ys:
            live.differentiate(ys)
            live.step()
            show(live)

    def _net(self, name: str, is_named: bool) -> Any:
        """The net NAME, or a new one; None: a variable is called so that is something else, and nobody names it."""
        if not name.isidentifier() or iskeyword(name):
            raise misused(f"A net is a variable, and {shorten(name)} is the name of none.")
        net = self._shell.user_ns.get(name)
        if net is None:
            return self._package.Net(name)
        if isinstance(net, self._package.Net):
            return net
        if is_named:
            raise misused(f"{name} is a {type(net).__name__}, and no net.", "Name another one: a new name makes a net.")
        return None

    def _run(self, cell: str, name: str, net: Any) -> tuple[Any, Any, list[Operator]]:
        """Run a cell in which `net` is the net NAME: what it gives, the net, and the operators that this has had."""
        names, ops = self._shell.user_ns, [] if net is None else net.ops.copy()
        before = {one: names[one] for one in ("net", name) if one in names}
        if net is not None:
            names["net"] = net
        try:
            result = self._result(cell)
        except BaseException:
            if net is not None:
                net.ops[:] = ops
            self._put_back("net", before)
            self._put_back(name, before)
            raise
        after = names.get("net")
        if name != "net" or not getattr(after, "ops", None):  # it is not the net NAME, or that of no cell so far
            self._put_back("net", before)
        if after is net and isinstance(named := names.get(name), self._package.Net):
            after = named  # the cell has made another one by its own name
        if isinstance(after, self._package.Net) and after is not net:
            return result, after, []
        return result, net, ops

    def _put_back(self, name: str, before: Mapping[str, Any]) -> None:
        """Let a variable be what it was before, unless the cell has made something else of it than a net."""
        names = self._shell.user_ns
        if isinstance(names.get(name), self._package.Net):
            del names[name]
            if name in before:
                names[name] = before[name]

    def _result(self, cell: str) -> Any:
        """What a cell gives, run as the user's code."""
        torch = bridge_in_use("torch", is_wanted="torch" in cell)
        shell, source = self._shell, f"#\n{cell}"  # instead of the line of the magic: lines keep their numbers
        transformed = ""
        with suppress(SyntaxError):  # told when it runs
            transformed = shell.transform_cell(source)
        if shell.should_run_async(source, transformed_cell=transformed) and _is_in_loop():
            raise misused("The cell awaits, and a cell of %%gradviz waits for nothing.", "Await in a cell of its own.")
        with nullcontext() if torch is None else torch.capture(keep=True):
            ran = shell.run_cell(source)
        # Releases of IPython that count a cell before they run it take what runs inside of it for the next one.
        number = len(shell.history_manager.input_hist_parsed) - 1
        shell.compile.cache(transformed, number, raw_code=source)
        if not ran.success:
            error = ran.error_in_exec or ran.error_before_exec
            if torch is not None and (explained := torch.explain(error)).findings:
                show(explained)
            raise GradvizError("The cell has failed: none of its operators joined a net, and nothing was recorded.")
        return ran.result

    def _start(self, ys: Sequence[str], result: Any, before: Mapping[str, Any]) -> Any:
        """What to go backward from: the variables that are named, else the result or the only new scalar.

        Of what requires no gradient the recording says why.
        """
        names = self._shell.user_ns
        candidates = {name: value for name, value in names.items() if name[:1] != "_" and _is_tensor(value)}
        for y in ys:
            if y not in candidates:
                near = meant(y, [name for name, one in candidates.items() if goes_back(one)], 3)
                raise misused(f"{shorten(y)} is no Variable or tensor from which gradients go back.", *near)
        if ys:
            return candidates[ys[0]] if len(ys) == 1 else [candidates[y] for y in ys]
        if goes_back(result):
            return result
        new = {name: one for name, one in candidates.items() if before.get(name) is not one}
        scalars = [name for name, one in new.items() if goes_back(one) and getattr(one, "ndim", one) == 0]
        if len(scalars) == 1:
            return new[scalars[0]]
        if not scalars and _is_tensor(result):
            return result
        if not new:
            raise misused(
                "The cell makes no Variable and no tensor to go backward from.", "Compute a loss in it.", NAMED
            )
        wanted = next(iter([*scalars, *(name for name, one in new.items() if goes_back(one)), *new]))
        raise misused("The cell does not say what to go backward from.", f"Write %%gradviz --ys {wanted}")


def _is_in_loop() -> bool:
    """Whether this runs in an event loop, as cells of a kernel do, where nothing can be waited for until the end."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def goes_back(value: Any) -> bool:
    """Whether a value was computed by something that can go backward."""
    return _is_tensor(value) and (value.creator if isinstance(value, Variable) else value.grad_fn) is not None


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return isinstance(value, Variable) or (torch is not None and isinstance(value, torch.Tensor))


def _options(line: str) -> dict[str, str]:
    """The options of the magic, each with what stands behind it."""
    words, options = line.replace("=", " ").split(), dict[str, str]()
    for name, value in zip(words[::2], [*words[1::2], ""], strict=False):
        if name not in OPTIONS:
            wrong = f"%%gradviz has no option {shorten(name)}: it takes {listed(OPTIONS)}."
            raise misused(wrong, *meant(name, OPTIONS, 1))
        if not value.strip(",") or value in OPTIONS:
            raise misused(f"{name} takes a word behind it.")
        if name in options:
            raise misused(f"{name} is there twice.")
        options[name] = value
    return options
