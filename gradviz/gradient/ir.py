"""The IR: from a forward program to the program of its gradients, one event at a time.

Let the forward program be operators f_0 .. f_{n-1} in SSA form, g(b) the gradient of blob version b, and S the ys:

    g(y)  starts as the seed of y, for y in S
    for i = n-1 .. 0, unless no output of f_i has a gradient:
        rule_i turns g(outputs of f_i) into gradient operators and one contribution to g(b) for each input b
    g(b)  is the sum of its contributions, formed when the first reader of b has been visited

Everything is kept by blob version, so a name that is written again starts a new history. A gradient operator may
read a forward blob only at the version that the program ends with: an older one is gone when the backward pass runs.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec

from ..operators.gradients import gradient_name
from ..program import Gradient, GradientError, GradientSlice, Operator
from ..program.control_flow import NETS, local_to, renamed, scopes_of
from ..program.crossing import output_device
from ..program.events import (
    Accumulated,
    Completed,
    Event,
    How,
    InputChecked,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
    outermost_operators,
)
from ..program.operator import Ssa, parts_of
from ..runtime.watched import uncollected
from .accumulation import Generator, GradientNames, Step, Total, Tracked, add_up, common_device, densified
from .forward import ForwardProgram, Ys, parse_ys
from .nesting import Nesting, Surroundings
from .refusals import out_of_scope, scope_as_y
from .rules import BlobRef, ask_rule, plain, settled, steps_of, takes_slices, with_names, written

OUTERMOST = Surroundings()
NO_OUTPUT_GRADIENT = "no output of it has a gradient"


class IR(ForwardProgram):
    """The state from which the backward pass of `operators` is generated.

    Attributes: those of `ForwardProgram`, and

        gradient_map: name -> gradient of the earliest version that has one: the result.
        names: whose gradient each generated name holds.
        events: what has happened since it was emptied; None: nobody wants to know.
        zeros: blob -> the gradient of zeros that it was given as it was before the net; see `Surroundings.zeroed`.

    Args:
        operators: the forward program.
        skip: the first `skip` operators take no part, except that they write the blobs that the others read.
        around: where a nested net stands.
        by_arrival: see `GradientNames`; nested nets name gradients as ever.

    Raises:
        GradientError: ``bad_skip``; ``bad_net`` when an operator writes one name twice; ``orphan_stop_gradient`` when
            nothing reads the output of a StopGradient; ``control_flow_structure``.
    """

    def __init__(
        self,
        operators: Iterable[Operator],
        skip: int = 0,
        *,
        around: Surroundings = OUTERMOST,
        by_arrival: bool = False,
    ) -> None:
        super().__init__(operators, skip, around)
        self.gradient_map: dict[str, Gradient] = {}
        self.names = GradientNames(self.blobs, around.reserved, by_arrival=by_arrival)
        self.events = around.events
        self.zeros: dict[str, str] = {}

    def get_backward_pass(self, ys: Ys) -> tuple[list[Operator], dict[str, Gradient]]:
        """The gradient operators for `ys`, in order, and the gradient of each blob that has one.

        Args:
            ys: blobs to differentiate, see `Ys`; gradients given for a y add to those that its readers send back.

        Raises:
            GradientError: see its ``kind``; `explain()` says what was wanted and the ways out.
        """
        with uncollected():
            for _ in self._walk(self._parsed(ys)):
                pass
        return self.gradient_ops, self.gradient_map

    def backward_events(self, ys: Ys) -> Iterator[Event]:
        """Generate the backward pass step by step; `gradient_ops` and `gradient_map` hold the result at the end."""
        for events in self.backward_steps(ys):
            yield from events

    def backward_steps(self, ys: Ys) -> Iterator[Sequence[Event]]:
        """The same in larger steps: the net and the seeds, then what an operator of the net brings, and its sums."""
        seeds = self._parsed(ys)
        events: list[Event] = list(self._played())
        self.events = events
        try:
            for _ in self._walk(seeds):
                yield events
                events.clear()
        except GradientError:
            # What came whole before the fault; the rest may be in a nested net, in which no operator runs yet.
            bringing = [at for at, event in enumerate(events, 1) if outermost_operators(event)]
            there = bringing[-1] if bringing else 0
            yield events[:there]
            yield events[there:]
            raise
        finally:
            self.events = None

    def differentiate(self, seeds: Mapping[str, str]) -> None:
        """Generate the pass of a nested net from the gradients that arrive: blob -> name."""
        if self.events is not None:
            self.events += self._played()
        for _ in self._walk(seeds):
            pass

    def _parsed(self, ys: Ys) -> dict[str, Gradient | None]:
        parsed = parse_ys(ys, self.blobs.keys(), lambda blob: local_to([ssa.op for ssa in self.ssa], blob))
        scopes = {scope for ssa in self.ssa if ssa.op.type in NETS for scope in scopes_of(ssa.op)}
        for y in parsed:
            if y in scopes:
                raise scope_as_y(y)
        return parsed

    def _played(self) -> Iterator[Played]:
        for index, ssa in enumerate(self.ssa):
            op = ssa.op
            if len(ssa.reads) > len(op.inputs):
                op = msgspec.structs.replace(op, inputs=[blob.name for blob in ssa.reads])
            yield Played(index, op, ssa.in_versions, ssa.out_versions, path=self.path)

    def _walk(self, seeds: Mapping[str, Gradient | None]) -> Iterator[None]:
        """Go through the pass; at each yield `events`, where it is a list, holds those since the last."""
        self._seed(seeds)
        yield
        for index in range(len(self.ssa) - 1, self.skip - 1, -1):
            self._visit(index)
            yield
            self.do_gradient_accumulation(index)
            yield
        if self.events is not None:
            self.events.append(Completed(dict(self.gradient_map), path=self.path))
        yield

    def _seed(self, seeds: Mapping[str, Gradient | None]) -> None:
        self._ys = list(seeds)
        unused: set[str] = set()
        for y, given in seeds.items():
            blob = self.blobs.setdefault(y, [Tracked(y, 0)])[-1]
            blob.use(len(self.ssa))
            if given is not None and self._leads_nowhere(blob, given):
                unused.add(y)
                continue
            for name in parts_of(given):
                self.names.hold(name, blob, owned=False)
        for y, given in seeds.items():
            self._start(self.blobs[y][-1], given, is_used=y not in unused)

    def _start(self, y: Tracked, given: Gradient | None, *, is_used: bool) -> None:
        if given is None:
            name = self.names.free(f"{y.name}_autogen_grad")
            fill = Operator("ConstantFill", [y.name], [name], {"value": 1.0})
            gradient: Gradient = name
            position = len(self.gradient_ops)
            self.gradient_ops.append(fill)
            self.names.hold(name, y, owned=True)
            generator = Generator(gradient, "seed", None, (Step(position, 0),))
            event = Seeded(y.name, y.version, gradient, fill, position, path=self.path)
        else:
            gradient = given
            generator = Generator(gradient, "given", None)
            event = Seeded(y.name, y.version, gradient, path=self.path)
        if is_used:
            y.receive(generator)
        y.gradient = self.gradient_map[y.name] = gradient
        if self.events is not None:
            self.events.append(event)

    def _leads_nowhere(self, y: Tracked, given: Gradient) -> bool:
        """Whether nobody needs a gradient given for `y`: the operator that wrote it in place passes none on."""
        index = self.writers.get(y) if y.version else None
        if index is None or y.name not in self.ssa[index].op.inputs:
            return False
        ssa = self.ssa[index]
        if index < self.skip or ssa.op.type in NETS:
            return False  # nobody asks it, or asking would differentiate its nets once more
        try:
            answer = ask_rule(ssa.op, index, [given if blob is y else None for blob in ssa.writes])
        except GradientError:
            return False
        return not any(answer.g_input)

    @cached_property
    def writers(self) -> dict[Tracked, int]:
        """Who wrote each version."""
        return {blob: index for index, ssa in enumerate(self.ssa) for blob in ssa.writes}

    def _visit(self, index: int) -> None:
        ssa, events = self.ssa[index], self.events
        g_output = [blob.gradient for blob in ssa.writes]
        nesting = Nesting(self, index) if ssa.op.type in NETS else None
        if not any(g_output) and ssa.op.type != "ZeroGradient" and not (nesting and nesting.zeroed()):
            if events is not None:
                events.append(Skipped(index, NO_OUTPUT_GRADIENT, path=self.path))
            if nesting is not None:
                self._leave(scopes_of(ssa.op), index)
            return
        if events is not None:
            events.append(Visited(index, g_output, path=self.path))
        if GradientSlice in map(type, g_output) and (nesting or not takes_slices(ssa.op, index, g_output)):
            g_output = self._densified(index, g_output)
        answer = ask_rule(ssa.op, index, g_output, nesting)
        operators, g_input = settled(answer, ssa, self.names)
        position = len(self.gradient_ops)
        if nesting is not None:
            is_passed = all(grad_op.type not in NETS for grad_op in operators)
            self._leave(scopes_of(ssa.op) if is_passed else nesting.left_on, index)
        checks: Sequence[InputChecked] = ()
        if events is not None or self.around.keeps_versions or not self._is_in_order(ssa, operators, g_output):
            checks = self._check_inputs(index, operators, g_output)
        if self.around.keeps_versions or self.around.copies:
            operators = [_reading(op, check) for op, check in zip(operators, checks, strict=True)]
        if answer.marked:
            operators = [plain(grad_op) for grad_op in operators]
            g_input = [g if type(g) is GradientSlice else with_names(g, str) for g in g_input]
        self.gradient_ops += operators
        if events is not None:
            plain_g_input = [with_names(g, str) for g in g_input]
            events.append(RuleApplied(index, answer.source, position, operators, plain_g_input, path=self.path))
            events += checks
        self.build_gradient_generators(index, operators, g_output, g_input)

    def _is_in_order(
        self, ssa: Ssa[Tracked], operators: Sequence[Operator], g_output: Sequence[Gradient | None]
    ) -> bool:
        """Whether a glance tells that all that `operators` read is there: gradients that arrive, and forward blobs
        that were written once at most."""
        inputs, outputs, blobs = ssa.op.inputs, ssa.op.outputs, self.blobs
        for op in operators:
            for name in op.inputs:
                if name in g_output:
                    if type(name) is not str and not (type(name) is BlobRef and name.source == "output gradient"):
                        return False
                elif (name not in outputs and name not in inputs) or len(blobs[name]) > 1:
                    return False
        return True

    def build_gradient_generators(
        self,
        fwd_op_idx: int,
        gradient_ops: Sequence[Operator],
        g_output: Sequence[Gradient | None],
        g_input: Sequence[Gradient | None],
    ) -> None:
        """Record what `gradient_ops`, the latest, of operator `fwd_op_idx`, contribute to the gradients of its inputs.

        All steps of a rule that write one name are one gradient, unless the input occurs several times.
        """
        ssa = self.ssa[fwd_op_idx]
        gradient_map = self.gradient_map
        generated = written(gradient_ops, g_input, len(self.gradient_ops) - len(gradient_ops), fwd_op_idx)
        for name, generators in generated.items():
            blob = ssa.reads[g_input.index(name)]
            if g_input.count(name) > 1:
                sharing = dict.fromkeys(of for of, g in zip(ssa.reads, g_input, strict=True) if g == name)
                if len(sharing) > 1:  # an accumulation may not rename it
                    for blob in sharing:
                        self._pass_on(name, blob, fwd_op_idx)
                    continue
            self.names.hold(name, blob, owned=True)
            for generator in generators:
                self._add_generator(blob, generator)
        for slot, gradient in enumerate(g_input):
            blob = ssa.reads[slot]
            if gradient is not None:
                if isinstance(gradient, GradientSlice):
                    generator = self.append_sparse_generators(fwd_op_idx, blob, gradient, gradient_ops, g_output)
                    gradient = generator.gradient
                    self._add_generator(blob, generator)
                elif gradient not in generated:
                    if gradient not in g_output:
                        raise out_of_scope(ssa.op, fwd_op_idx, gradient)
                    self._pass_on(gradient, blob, fwd_op_idx)
                blob.gradient = gradient_map[blob.name] = gradient
                if type(gradient) is GradientSlice and gradient.indices == blob.name:
                    del gradient_map[blob.name]  # it numbers the rows of itself: whole numbers have no gradient
            elif blob.name in ssa.op.outputs and blob.gradient is None and ssa.op.type not in NETS:
                gradient_map.pop(blob.name, None)  # written in place without gradient

    def append_sparse_generators(
        self,
        fwd_op_idx: int,
        blob: Tracked,
        gradient: GradientSlice,
        gradient_ops: Sequence[Operator],
        g_output: Sequence[Gradient | None],
    ) -> Generator:
        """Merge who makes the indices and who makes the values of `gradient` into one generator of `blob`.

        A half that no operator of the rule writes is passed on: an output gradient, or a forward blob as it still is.
        """
        first = len(self.gradient_ops) - len(gradient_ops)
        device = self.ssa[fwd_op_idx].op.device
        names, halves = [], []
        for half in (gradient.indices, gradient.values):
            steps = steps_of(half, gradient_ops, first)
            name = str(half) if steps else self.check_gradient_operator_input(half, g_output, fwd_op_idx, ()).name
            self.names.hold(name, blob, owned=bool(steps))
            if steps:
                device = output_device(gradient_ops[steps[-1].position - first])
            names.append(name)
            halves.append(steps)
        how: How = "generated" if any(halves) else "passed"
        return Generator(GradientSlice(*names), how, fwd_op_idx, halves[1], device, index_steps=halves[0])

    def _densified(self, index: int, g_output: Sequence[Gradient | None]) -> list[Gradient | None]:
        """`g_output` with the sparse ones made dense: scatter-added in the shape of the output."""
        ssa = self.ssa[index]
        dense = list(g_output)
        for slot, (blob, gradient) in enumerate(zip(ssa.writes, g_output, strict=True)):
            if type(gradient) is not GradientSlice:
                continue
            like = self._check_forward("output", blob, index).name
            name = gradient_name(blob.name)
            name = name if self.names.writable(name, blob) else self.names.fresh(name)
            op = densified(gradient, like, name, ssa.op.device)
            self._record_total(index, blob, Total([op], [], name), Generator(gradient, "passed", index))
            dense[slot] = name
        return dense

    def _pass_on(self, gradient: str, blob: Tracked, index: int) -> None:
        """The gradient of `blob` is one that has a name of its own: no accumulation may rename it."""
        self.names.hold(gradient, blob, owned=False)
        self._add_generator(blob, Generator(gradient, "passed", index, (), self.ssa[index].op.device))

    def _add_generator(self, blob: Tracked, generator: Generator) -> None:
        blob.receive(generator)
        if self.events is not None:
            self.events.append(generator.added_to(blob, self.path))

    def do_gradient_accumulation(self, fwd_op_idx: int) -> None:
        """Add up the gradients of each input of operator `fwd_op_idx` whose first reader it is."""
        summed: list[Tracked] = []
        for blob in self.ssa[fwd_op_idx].reads:
            if blob.uses > 1 and blob.first_use == fwd_op_idx and len(blob.generators) > 1 and blob not in summed:
                summed.append(blob)
                self._accumulate(fwd_op_idx, blob)

    def _accumulate(self, index: int, blob: Tracked) -> None:
        through = [self.ssa[one.index].op for one in blob.generators if one.device and one.index is not None]
        device = common_device(blob, index, can_copy=not self.path and not any(op.type in NETS for op in through))
        total = add_up(blob, self.gradient_ops, self.names)
        if device is not None:
            total.operators[:] = [msgspec.structs.replace(op, device=device) for op in total.operators]
        self._record_total(index, blob, total)

    def _record_total(self, index: int, blob: Tracked, total: Total, only: Generator | None = None) -> None:
        """Append the operators of `total`, which adds up the gradients of `blob`, or makes the `only` one dense."""
        position = len(self.gradient_ops)
        self.gradient_ops += total.operators
        for op in total.operators:
            for name in op.outputs:
                self.names.hold(name, blob, owned=True)
        blob.gradient = self.gradient_map[blob.name] = total.gradient
        if self.events is not None:
            terms = [generator.contribution() for generator in ([only] if only else blob.generators)]
            renames, operators, gradient = total.renames, total.operators, total.gradient
            self.events.append(
                Accumulated(
                    index, blob.name, blob.version, terms, renames, operators, position, gradient, path=self.path
                )
            )


def alone(op: Operator) -> Nesting:
    """The nesting of a control operator that is a program by itself."""
    return Nesting(IR([op]), 0)


def _reading(op: Operator, check: InputChecked) -> Operator:
    """`op` reading what each input was found to mean: where a version was overwritten, the one that is kept.

    Slot by slot, for an operator in place may read both versions of one name: ``SwishGradient(h, h, h_grad)``.
    """
    inputs = [checked.name for checked in check.inputs]
    if inputs == op.inputs:
        return op
    if op.type in NETS:  # its nets know what it reads by name, and it reads each name once
        return renamed(op, dict(zip(op.inputs, inputs, strict=True)), {})
    return msgspec.structs.replace(op, inputs=inputs)
