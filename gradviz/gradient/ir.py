"""The IR: from a forward program to the program of its gradients, one event at a time.

Let the forward program be operators f_0 .. f_{n-1} in SSA form, g(b) the gradient of blob version b, and S the ys:

    g(y)  starts as the seed of y, for y in S
    for i = n-1 .. 0, unless no output of f_i has a gradient:
        rule_i turns g(outputs of f_i) into gradient operators and one contribution to g(b) for each input b
    g(b)  is the sum of its contributions, formed when the first reader of b has been visited

Everything is keyed by (name, version), so a name that is written again starts a new history. A gradient operator may
read a forward blob only at the version that the program ends with: an older one is gone when the backward pass runs.
"""

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from ..program import Gradient, GradientError, GradientSlice, Operator
from ..program.collection import uncollected
from ..program.events import (
    Accumulated,
    Checked,
    Completed,
    Contribution,
    Event,
    GeneratorAdded,
    How,
    InputChecked,
    Played,
    RuleApplied,
    Seeded,
    Skipped,
    Visited,
)
from ..program.operator import parts_of
from ..program.ssa import Ssa, play
from .accumulation import Generator, Total, add_up, common_device, densified
from .names import GradientNames
from .refusals import (
    bad_skip,
    duplicate_output,
    missing_output_gradient,
    orphan_stop_gradient,
    out_of_scope,
    version_overwritten,
)
from .rules import Answer, ask_rule
from .steps import plain, steps_of, written
from .versions import PerVersion
from .why_none import WhyNone, why_none
from .ys import Ys, parse_ys

NO_OUTPUT_GRADIENT = "no output of it has a gradient"


class IR:
    """The state from which the backward pass of `operators` is generated.

    Attributes:
        ssa: each operator with the versions it reads and writes.
        input_usages: name -> version -> indices of the operators that read it, one entry a reading; being a y counts
            as a reading by operator ``len(operators)``.
        frontier: name -> version at the end of the forward program.
        gradient_frontier: name -> version that its latest gradient belongs to.
        gradient_generators: name -> version -> the gradients that have arrived.
        gradients: (name, version) -> its gradient so far.
        gradient_map: name -> gradient of the earliest version that has one: the result.
        gradient_ops: the gradient operators made so far.

    Args:
        operators: the forward program.
        skip: the first `skip` operators take no part, except that they write the blobs that the others read.

    Raises:
        GradientError: ``bad_skip``; ``bad_net`` when an operator writes one name twice; ``orphan_stop_gradient`` when
            nothing reads the output of a StopGradient.
    """

    def __init__(self, operators: Iterable[Operator], skip: int = 0) -> None:
        operators = list(operators)
        if not (isinstance(skip, int) and 0 <= skip <= len(operators)):
            raise bad_skip(skip, len(operators))
        self.skip = skip
        self.ssa: list[Ssa] = []
        self.input_usages: PerVersion[int] = PerVersion()
        self.frontier: dict[str, int] = {}
        self.gradient_frontier: dict[str, int] = {}
        self.gradient_generators: PerVersion[Generator] = PerVersion()
        self.gradients: dict[tuple[str, int], Gradient] = {}
        self.gradient_map: dict[str, Gradient] = {}
        self.gradient_ops: list[Operator] = []
        self._names = GradientNames(self.frontier)
        with uncollected():
            for op in operators:
                self.play(op)
        self.sanity_check()

    def play(self, op: Operator) -> None:
        """Append `op` to the forward program: number its versions and note its readings and writings."""
        index = len(self.ssa)
        if len(set(op.outputs)) != len(op.outputs):
            raise duplicate_output(op, index)
        ssa = play(op, self.frontier)
        if index >= self.skip:
            for name, version in zip(op.inputs, ssa.in_versions, strict=True):
                self.input_usages.at(name, version).append(index)
        self.ssa.append(ssa)

    @property
    def in_version_history(self) -> dict[str, list[tuple[Operator, int]]]:
        """Name -> (operator, version) of every reading, in order."""
        history: dict[str, list[tuple[Operator, int]]] = defaultdict(list)
        for op, in_versions, _ in self.ssa:
            for name, version in zip(op.inputs, in_versions, strict=True):
                history[name].append((op, version))
        return dict(history)

    @property
    def out_version_history(self) -> dict[str, list[tuple[Operator, int]]]:
        """Name -> (operator, version) of every writing, in order."""
        history: dict[str, list[tuple[Operator, int]]] = defaultdict(list)
        for op, _, out_versions in self.ssa:
            for name, version in zip(op.outputs, out_versions, strict=True):
                history[name].append((op, version))
        return dict(history)

    def sanity_check(self) -> None:
        """Raise ``orphan_stop_gradient`` when no operator reads the output of a StopGradient."""
        for index, (op, _, _) in enumerate(self.ssa[self.skip :], self.skip):
            if op.type == "StopGradient" and op.outputs[0] not in self.input_usages:
                raise orphan_stop_gradient(op, index)

    def get_backward_pass(self, ys: Ys) -> tuple[list[Operator], dict[str, Gradient]]:
        """The gradient operators for `ys`, in order, and the gradient of each blob that has one.

        Args:
            ys: blobs to differentiate, see `Ys`; gradients given for a y add to those that its readers send back.

        Raises:
            GradientError: see its ``kind``; `explain()` says what was wanted and the ways out.
        """
        with uncollected():
            for _ in self.backward_events(ys):
                pass
        return self.gradient_ops, self.gradient_map

    def why_none(self, blob: str) -> WhyNone:
        """The proof that `blob` has no gradient after this pass, see `gradviz.gradient.why_none`."""
        return why_none(self, blob)

    def backward_events(self, ys: Ys) -> Iterator[Event]:
        """Generate the backward pass step by step; `gradient_ops` and `gradient_map` hold the result at the end."""
        seeds = parse_ys(ys, self.frontier.keys())
        for index, (op, in_versions, out_versions) in enumerate(self.ssa):
            yield Played(index, op, in_versions, out_versions)
        yield from self._seed(seeds)
        for index in range(len(self.ssa) - 1, self.skip - 1, -1):
            yield from self._visit(index)
            if accumulations := self.do_gradient_accumulation(index):
                yield from accumulations
        yield Completed(dict(self.gradient_map))

    def _seed(self, seeds: dict[str, Gradient | None]) -> Iterator[Event]:
        unused: set[str] = set()
        for y, given in seeds.items():
            version = self.frontier.setdefault(y, 0)
            self.input_usages.at(y, version).append(len(self.ssa))
            self.gradient_frontier[y] = version
            if given is not None and self._leads_nowhere(y, version, given):
                unused.add(y)
                continue
            for name in parts_of(given):
                self._names.hold(name, y, version, owned=False)
        for y, given in seeds.items():
            yield self._start(y, given, is_used=y not in unused)

    def _start(self, y: str, given: Gradient | None, *, is_used: bool) -> Seeded:
        version = self.frontier[y]
        if given is None:
            fill = self._fill_with_ones(y)
            gradient: Gradient = fill.outputs[0]
            position = len(self.gradient_ops)
            self.gradient_ops.append(fill)
            self._names.hold(fill.outputs[0], y, version, owned=True)
            generator = Generator(gradient, "seed", None, [(position, 0)], None)
            event = Seeded(y, version, gradient, fill, position)
        else:
            gradient = given
            generator = Generator(gradient, "given", None, [], None)
            event = Seeded(y, version, gradient)
        if is_used:
            self.gradient_generators.at(y, version).append(generator)
        self.gradients[y, version] = self.gradient_map[y] = gradient
        return event

    def _leads_nowhere(self, y: str, version: int, given: Gradient) -> bool:
        """Whether nobody needs a gradient given for `y`: the operator that wrote it in place passes none on."""
        for index, (op, _, out_versions) in enumerate(self.ssa):
            if y in op.inputs and (y, version) in zip(op.outputs, out_versions, strict=True):
                try:
                    answer = ask_rule(op, index, [given if name == y else None for name in op.outputs])
                except GradientError:
                    return False
                return not any(answer.g_input)
        return False

    def _fill_with_ones(self, y: str) -> Operator:
        return Operator("ConstantFill", [y], [self._names.free(f"{y}_autogen_grad")], {"value": 1.0})

    def _visit(self, index: int) -> Iterator[Event]:
        op, in_versions, out_versions = self.ssa[index]
        gradients = self.gradients
        g_output = [gradients.get(blob) for blob in zip(op.outputs, out_versions, strict=True)]
        if not any(g_output) and op.type != "ZeroGradient":
            yield Skipped(index, NO_OUTPUT_GRADIENT)
            return
        yield Visited(index, g_output)
        answer = self._ask(index, g_output)
        if answer is None:
            g_output = g_output.copy()  # the event before keeps what it was told
            yield from self._densify(index, g_output)
            answer = ask_rule(op, index, g_output)
        operators, g_input = self._names.settle(op, in_versions, answer)
        position = len(self.gradient_ops)
        checks = self._check_inputs(index, operators, g_output)
        if answer.marked:
            operators = [plain(made) for made in operators]
            g_input = [str(g) if isinstance(g, str) else g for g in g_input]
        self.gradient_ops += operators
        yield RuleApplied(index, answer.source, position, operators, g_input)
        yield from checks
        yield from self.build_gradient_generators(index, operators, g_output, g_input)

    def _check_inputs(
        self, index: int, operators: Sequence[Operator], g_output: Sequence[Gradient | None]
    ) -> list[InputChecked]:
        made: list[str] = []
        checks = []
        first = len(self.gradient_ops)
        for position, op in enumerate(operators, first):
            checked = [self.check_gradient_operator_input(name, g_output, index, made) for name in op.inputs]
            checks.append(InputChecked(index, position, checked))
            made.extend(op.outputs)
        return checks

    def check_gradient_operator_input(
        self,
        grad_op_input: Any,
        g_output: Sequence[Gradient | None],
        fwd_op_idx: int,
        locally_generated_blobs: Container[str],
    ) -> Checked:
        """What `grad_op_input`, read by a gradient operator of operator `fwd_op_idx`, stands for.

        Looked for in this order: a gradient in `g_output`, an output, an input of the forward operator, a blob that
        the same rule made before (`locally_generated_blobs`), a half of a slice in `g_output`.

        Raises:
            GradientError: ``missing_output_gradient`` for None, ``version_overwritten`` when a forward blob has been
                written again since, ``rule_failed`` when the name is none of these.
        """
        op, in_versions, out_versions = self.ssa[fwd_op_idx]
        if grad_op_input is None:
            raise missing_output_gradient(op, fwd_op_idx, g_output)
        meant = None if type(grad_op_input) is str else getattr(grad_op_input, "source", None)
        if grad_op_input in g_output and meant in (None, "output gradient"):
            slot = g_output.index(grad_op_input)
            return Checked(str(grad_op_input), "output gradient", op.outputs[slot], out_versions[slot])
        if grad_op_input in op.outputs and meant in (None, "output"):
            return self._check_forward(
                "output", grad_op_input, out_versions[op.outputs.index(grad_op_input)], fwd_op_idx
            )
        if grad_op_input in op.inputs and meant in (None, "input"):
            return self._check_forward("input", grad_op_input, in_versions[op.inputs.index(grad_op_input)], fwd_op_idx)
        if grad_op_input in locally_generated_blobs:
            return Checked(str(grad_op_input), "rule")
        for slot, gradient in enumerate(g_output):
            if grad_op_input in parts_of(gradient):
                return Checked(grad_op_input, "output gradient", op.outputs[slot], out_versions[slot])
        raise out_of_scope(op, fwd_op_idx, grad_op_input)

    def _check_forward(self, source: Any, name: str, version: int, index: int) -> Checked:
        if self.frontier[name] != version:
            raise version_overwritten(self.ssa, index, source, str(name), version, self.frontier[name])
        return Checked(str(name), source, str(name), version)

    def build_gradient_generators(
        self,
        fwd_op_idx: int,
        gradient_ops: Sequence[Operator],
        g_output: Sequence[Gradient | None],
        g_input: Sequence[Gradient | None],
    ) -> list[GeneratorAdded]:
        """Record what `gradient_ops`, just made for operator `fwd_op_idx`, contribute to the gradients of its inputs.

        All steps of a rule that write one name are one gradient, unless the input occurs several times.
        """
        op, in_versions, _ = self.ssa[fwd_op_idx]
        first = len(self.gradient_ops) - len(gradient_ops)
        events = []
        known = [blob for blob in op.inputs if blob in self.gradient_map]
        made = written(gradient_ops, g_input, first, fwd_op_idx)
        for name, generators in made.items():
            slot = g_input.index(name)
            blob, version = op.inputs[slot], in_versions[slot]
            self._names.hold(name, blob, version, owned=True)
            for generator in generators:
                events.append(self._add_generator(blob, version, fwd_op_idx, generator))
        for blob, version, gradient in zip(op.inputs, in_versions, g_input, strict=True):
            if gradient is not None:
                if type(gradient) is GradientSlice:
                    generator = self.append_sparse_generators(
                        fwd_op_idx, blob, version, gradient, gradient_ops, g_output
                    )
                    events.append(self._add_generator(blob, version, fwd_op_idx, generator))
                elif gradient not in made:
                    events.append(self._pass_through(blob, version, fwd_op_idx, gradient, g_output))
                self.gradient_frontier[blob] = version
                self.gradients[blob, version] = self.gradient_map[blob] = gradient
            elif blob in op.outputs or blob not in known:
                # Written in place without gradient, or read twice, the second time without: as Caffe2, no entry.
                self.gradient_map.pop(blob, None)
        return events

    def append_sparse_generators(
        self,
        fwd_op_idx: int,
        blob: str,
        version: int,
        gradient: GradientSlice,
        gradient_ops: Sequence[Operator],
        g_output: Sequence[Gradient | None],
    ) -> Generator:
        """Merge who makes the indices and who makes the values of `gradient` into one generator of `blob`.

        A half that no operator of the rule writes is passed on: an output gradient, or a forward blob as it still is.
        """
        first = len(self.gradient_ops) - len(gradient_ops)
        device = self.ssa[fwd_op_idx].op.device
        halves = []
        for name in (gradient.indices, gradient.values):
            steps = steps_of(name, gradient_ops, first)
            if not steps:
                self.check_gradient_operator_input(name, g_output, fwd_op_idx, ())
            self._names.hold(name, blob, version, owned=bool(steps))
            if steps:
                device = gradient_ops[steps[-1][0] - first].device
            halves.append(steps)
        how: How = "generated" if any(halves) else "passed"
        return Generator(gradient, how, fwd_op_idx, halves[1], device, halves[0])

    def _ask(self, index: int, g_output: Sequence[Gradient | None]) -> Answer | None:
        """What the rule of operator `index` answers, None where it reads as one dense blob what is sparse here."""
        op = self.ssa[index].op
        if not any(type(gradient) is GradientSlice for gradient in g_output):
            return ask_rule(op, index, g_output)
        try:
            answer = ask_rule(op, index, g_output)
        except GradientError as error:
            if error.kind == "rule_failed":
                return None
            raise
        reads_slice = any(isinstance(name, GradientSlice) for made in answer.operators for name in made.inputs)
        return None if reads_slice else answer

    def _densify(self, index: int, g_output: list[Gradient | None]) -> Iterator[Event]:
        """Make the sparse ones of `g_output` dense, in place in that list: scatter-add in the shape of the output."""
        op, _, out_versions = self.ssa[index]
        for slot, (blob, version) in enumerate(zip(op.outputs, out_versions, strict=True)):
            gradient = g_output[slot]
            if type(gradient) is not GradientSlice:
                continue
            self._check_forward("output", blob, version, index)
            name = f"{blob}_grad"
            name = name if self._names.writable(name, blob, version) else self._names.fresh(name)
            made = densified(gradient, blob, name, op.device)
            contribution = Contribution(gradient, "passed", index, None)
            yield self._record_total(index, blob, version, Total([made], [], name), [contribution])
            g_output[slot] = name

    def _pass_through(
        self, blob: str, version: int, index: int, gradient: Gradient, g_output: Sequence[Gradient | None]
    ) -> GeneratorAdded:
        op = self.ssa[index].op
        if gradient not in g_output:
            raise out_of_scope(op, index, gradient)
        assert isinstance(gradient, str)
        self._names.hold(gradient, blob, version, owned=False)
        return self._add_generator(blob, version, index, Generator(gradient, "passed", index, [], op.device))

    def _add_generator(self, blob: str, version: int, index: int, generator: Generator) -> GeneratorAdded:
        generators = self.gradient_generators.at(blob, version)
        generators.append(generator)
        return GeneratorAdded(
            index, blob, version, generator.gradient, generator.how, generator.position, len(generators)
        )

    def do_gradient_accumulation(self, fwd_op_idx: int) -> list[Accumulated]:
        """Add up the gradients of each input of operator `fwd_op_idx` whose first reader it is."""
        op, in_versions, _ = self.ssa[fwd_op_idx]
        shared: dict[str, int] = {}
        for name, version in zip(op.inputs, in_versions, strict=True):
            usages = self.input_usages[name][version]
            if len(usages) > 1 and usages[0] == fwd_op_idx:
                shared[name] = version
        return [
            self._accumulate(fwd_op_idx, name, version, generators)
            for name, version in shared.items()
            if len(generators := self.gradient_generators.at(name, version)) > 1
        ]

    def _accumulate(self, index: int, blob: str, version: int, generators: Sequence[Generator]) -> Accumulated:
        device = common_device(blob, index, generators)
        total = add_up(blob, version, generators, self.gradient_ops, self._names)
        if device is not None:
            total.operators[:] = [msgspec.structs.replace(op, device=device) for op in total.operators]
        contributions = [generator.contribution() for generator in generators]
        return self._record_total(index, blob, version, total, contributions)

    def _record_total(
        self, index: int, blob: str, version: int, total: Total, contributions: list[Contribution]
    ) -> Accumulated:
        position = len(self.gradient_ops)
        self.gradient_ops += total.operators
        for op in total.operators:
            for name in op.outputs:
                self._names.hold(name, blob, version, owned=True)
        self.gradients[blob, version] = self.gradient_map[blob] = total.gradient
        return Accumulated(
            index, blob, version, contributions, total.renames, total.operators, position, total.gradient
        )
