"""Every sentence of the narration, in the order of the story: templates with places for what differs.

Where a place stands for more than a name or a number, what fills it is ready-made: plural forms, lists, durations.
Code stands between backticks, blobs with their versions: `x@1`.
"""

from __future__ import annotations

from functools import lru_cache

Sentence = tuple[str, *tuple[object, ...]]
"""A template and what fills its places, in their order."""

Sentences = list[Sentence]


def joined(sentences: Sentences) -> tuple[str, list[str]]:
    """The template of all together, and what fills it."""
    if len(sentences) == 1:
        template, *arguments = sentences[0]
        return template, list(map(str, arguments))
    return _joined(tuple([one[0] for one in sentences])), [str(what) for one in sentences for what in one[1:]]


@lru_cache(1000)
def _joined(templates: tuple[str, ...]) -> str:
    """Sentences and clauses with spaces between, but for one that begins with a punctuation mark."""
    first, *others = templates
    return "".join([first, *(one if one[0] in ",.:;" else f" {one}" for one in others)])


STOP = "."

# A net is played, or functions are called.
JOINS = "Operator #{number_and_line} joins the program:"
JOINS_NESTED = "Operator #{number_and_line} is part of the nested net:"
CALLED = "Function #{number} was called:"
CALLED_ON = "Function #{number} was called on {line}:"
CALLED_IN = "Function #{number} was called in `{module}`, on {line}:"
CALL = "`{call}`"
CALL_OVER = "`{type}` over {nets}"
FORMULA = ", {formula}"
WRITES_ONE = "It writes `{blob}` {how}, which makes it version {version}."
WRITES_SEVERAL = "It writes {blobs} {how}, which makes new versions of them."
NEW_DATA = "It stands for new data that was given to a Variable, and has no gradient of its own."
RANK_BY_LEAVES = "It reads leaves alone, so its rank is {rank}."
RANK = "Its rank is {rank}, that of `{deepest}`, the greatest among what it reads."

# The pass starts.
SEEDED = "The pass starts at `{y}`: its own gradient is one, so `{call}` fills it with ones."
SEEDED_AS_IT_GOES = "The pass starts at `{y}`: its own gradient is one, `{gradient}`."
SEED_GIVEN = "The pass starts at `{y}` from the gradient that was given, `{gradient}`."
SEED_GIVEN_NESTED = "The pass of the nested net starts at `{y}` from the gradient that arrives there, `{gradient}`."
SEED_ARRIVES = "The pass of the nested net starts at `{y}` from the gradient that arrives there."
JOINS_HEAP = "{function} joins the heap with rank {rank}, arrival number {arrival}."

# An operator is reached, or a function taken from the heap.
REACHED = "{operator} is reached with the gradient {gradients}"
NONE_SENT = "; nothing sends one to {blobs}"
RULE_IS_NEXT = ". Now its rule can be asked."
NEXT_ALONE = "{function} is next: it is the only one in the heap, with rank {rank}."
NEXT_OF_EQUALS = (
    "{function} is next: no rank in the heap is greater than its {rank}, and it was reached first; {who_waits}."
)
NEXT_BY_RANK = "{function} is next: its rank {rank} is the greatest in the heap; {who_waits}."
WHOLE = "The readers of {blobs} have greater ranks and ran before: {gradients} {are} whole."
NONE_SENT_TO = "Nothing sends a gradient to {blobs}."
WITHOUT_OUTPUT = "{operator} is passed by: it has no output, so nothing can send it a gradient."
NOT_REACHED = "{operator} is passed by: no gradient has reached {outputs}. Not computed is not zero."
NOTHING_DOWNSTREAM = (
    "{operator} is passed by: nothing downstream sends a gradient to {outputs}. Not computed is not zero."
)

# Its rule is asked, or runs.
RULE = "The rule of {operator} makes {operators}"
DERIVATIVE = "({derivative})"
RULE_PASSES = "The rule of {operator} lets {gradient} pass on unchanged to {blobs}; no operator is needed."
RULE_ENDS = "The rule of {operator} gives its inputs {blobs} no gradient: the flow ends here."
RUN_AT_ONCE = "{they_are} run at once."
METHOD = "The backward method of {function} ran: {operators}."
METHOD_ENDS = "The backward method of {function} gave no gradient: the flow ends here."
METHOD_GAVE_NONE = "It gave no gradient of {blobs}: the flow ends there."
NOT_WANTED = "No gradient of {blobs} is wanted: none is computed."

# What its gradient operators read is checked.
MAY_READ = "`{type}` may read"
AND_ALSO = "; and"
GRADIENT_OF = "`{gradient}`, the gradient of `{blob}`"
GRADIENT_ARRIVED = "the gradient of `{blob}`"
STILL_HOLDS = "{blobs}, which {still_hold} what {operator} saw"
OVERWRITTEN = "`{blob}`, which was overwritten; the workspace has kept it"
OVERWRITTEN_BY = "`{blob}`, which {operator} overwrote; the workspace has kept it"
FROM_THE_RULE = "`{gradient}`, which the rule made just before"
READS_NOTHING = "`{type}` reads nothing, so no version can be wrong."

# A gradient arrives.
ONLY_GRADIENT = "`{gradient}` is the gradient of `{blob}`, complete: {reader} is its only reader."
ONE_OF_GRADIENTS = "`{gradient}` is gradient number {count} of `{blob}`, which is read by {readers}."
ARRIVES = "`{gradient}` arrives at `{blob}`, which {function} returned"
ARRIVES_AT_LEAF = "`{gradient}` arrives at `{blob}`, a leaf"
FIRST_IN_PASS = ": the first gradient of it in this pass."
ADDED_AT_ONCE = ": gradient number {count} of it, added at once to what is there."
IN_HEAP = "{function} is in the heap already, by a gradient of something else that it returned."

# Gradients are added, or their rows merged.
DENSE_RULE = "The rule of {operator} reads a dense gradient"
DENSE_PASS = "{function} goes backward on dense gradients"
SPARSE_TO_DENSE = ", and that of `{blob}` is sparse: `{call}` adds its rows, those of equal index too, into zeros."
ALL_ARE_IN = "`{blob}` is read by {readers}. {operator} is the first of them, so {all} gradients are in"
ARE_SPARSE = ". They are sparse, so their rows are laid one after the other in {blobs}, equal indices unmerged."
SOME_TO_DENSE = ", the sparse ones made dense,"
ADDED_HERE = "and are added here: `{sum} = {terms}`."
RENAMED = "So that none overwrites another, {renames}."
AS_THEY_ARRIVE = "`{blob}` is read by {readers}; the gradients that come from there are added as they arrive"
BOTH_SPARSE = ": both are sparse, so their rows are laid one after the other in {blobs}."
ONE_TO_DENSE = ": the sparse one made dense; `{sum} = {terms}`"
ADDED = ": `{sum} = {terms}`"
SUM_BY_NOW = ", the sum of {count} by now."
HOOKED = "A hook of yours has changed the gradient of `{blob}` before it is read: {operators}."
HAS_HOOK = "`{blob}` has the hook {hook}."
HAS_HOOKS = "`{blob}` has the hooks {hooks}, which run in this order."
BY_HAND = "You have changed `{blob}` by hand: `{given}` is what you gave, in place of `{before}`."
STALE = "What was computed from that before is stale: {blobs}."
NOT_STALE = "Nothing had been computed from that."
MERGED = "The gradient of `{blob}` is sparse, and its rows of equal index are merged: `{unique}` finds each index once,"
ROWS_ADDED = "`{segments}` adds up the rows of each, and the gradient stays what it is."
ROWS_AVERAGED = "`{segments}` takes the mean of the rows of each: another gradient where one repeats."
REPEATS_UNKNOWN = "How many repeat is known once it has run."
NO_REPEATS = "Here none repeats: all {count} rows stay."
REPEATS = "Here {rows} became {count}; index {index} stood there {times} times."

# The pass goes into nested nets, and out of them.
INTO_DO = "To differentiate {operator}, the pass goes into its net `{net}`, where {bindings}."
INTO_BRANCH = (
    "{operator} may run either of its nets, so both are differentiated; "
    "which one the backward pass runs is decided when the condition is known. Now its {argument} `{net}`."
)
INTO_LOOP = (
    "All iterations of {operator} run the same net, so one backward pass of its {argument} `{net}` serves them all: "
    "it will run once for each iteration, in the workspace that the iteration has left."
)
NET_ENDS = "The pass through the nested net is whole: {operators}, gradients of {blobs}."
NET_ENDS_WITH_NONE = "The pass through the nested net is whole, and reaches no blob."
OUT_OF_NET = "The backward pass of `{net}` is there, {operators}. Back to {operator}, whose rule wraps it."
OUT_OF_EMPTY_NET = "`{net}` is left, back to {operator}."
DUPLICATED = (
    "`{gradient}` arrives at several outputs of {operator}. A gradient can be bound to one inner blob only, "
    "so `{call}` makes `{copy}`, the same for a later one."
)
DO_RULE = (
    "The rule of {operator} makes a Do of its own: it takes the workspace that {operator} left off `{scope}` and "
    "runs the backward pass there, where everything still is as the net saw it; {results}."
)
IF_RULE = (
    "The rule of {operator} makes an If of its own: it looks at the same condition, `{condition}`, "
    "and runs the backward pass of the branch that was taken; {results}."
)
FILLS_WITH_ZEROS = "Its {argument} fills {blobs} with zeros: {gradients} that only the other branch computes."
WHILE_RULE = (
    "The rule of {operator} makes a While of its own: for each workspace that an iteration left on "
    "`{scope}`, the last one first, it runs the backward pass of that iteration."
)
HANDED_ON = "{blobs} {are} handed on from iteration to iteration, starting from the gradient that arrives, or zeros."
SUMMED = "{blobs} {are_sums}, from zero: every iteration reads the same {inputs} and adds its gradient."
PASSES_ON = "{gradient} passes on unchanged to {blobs}."
NO_WAY_BACK = "The rule of {operator} gives its inputs no gradient: nothing in its nets leads back to them."

# The pass has come to an end.
COMPLETED = "The backward pass is whole: {operators}, gradients of {blobs}."
COMPLETED_UNRUN = "The backward pass is generated, and will not be run: {operators}, gradients of {blobs}."
NO_FURTHER = "None goes further back than {blobs}; `why_none` says of any other blob what cuts its ways."
HEAP_EMPTIED = "The heap is empty, so the pass is whole: {functions} went backward, and {variables} got {their} grad."
NONE_WRITTEN = "The heap is empty, so the pass is whole: {functions} went backward, and no grad was written."
FAILED = "The pass stops here. {message}"
NOT_RUN = "Nothing is run. {message}"

# The program runs.
RAN = "{what} ran on {device}"
TOOK = "in {duration}"
COPIED = ", a copy of {size} from {device}"
OUTPUTS = ": {outputs}."
RAN_BEFORE = "{outputs}: known since {function} was called; nothing is run again."
RAN_UNSEEN = "{function} ran when it was called, and what it made was not kept; nothing is run again."
GRAD_WAS_EMPTY = "`{blob}.grad` was empty and is `{after}` now"
GRAD_IS = "`{blob}.grad` is `{after}` now"
GRAD_OF = ", `{gradient}`"
GRAD_IS_SUM = ", the sum of {count} gradients"
GRAD_OF_ROWS = ", its rows added into zeros"
GRAD_REPLACED = "; what it held, `{before}`, is replaced."
GRAD_ADDED = (
    "`{blob}.grad` held `{before}` of an earlier pass, so this pass is added to it: "
    "`{after} = {before} + {gradient}`. Emptied before the pass, it would start anew."
)
GRAD_DROPPED = (
    "`{blob}.grad` held `{before}`, left by another pass, and keeps nothing now: retain_grad was not asked for."
)
GRAD_TAKEN = "`{gradient}` was written to `{blob}.grad`, and a hook that waits for that has emptied it."

# It goes into nested nets, and out of them.
RUNS_DO = "{operator} runs its net `{net}` in a workspace of its own, where {bindings}."
RUNS_DO_BACK = (
    "{runner} takes the workspace that {left_by} left off `{scope}`, "
    "and continues in it with the backward pass of `{net}`: {bindings}."
)
DO_ENDS = "The net `{net}` ends:"
DO_ENDS_BACK = "The backward pass of `{net}` ends:"
GO_OUT = "{results} {go} out;"
WORKSPACE_KEPT = "its workspace is kept on `{scope}`."
WORKSPACE_KEPT_WITH = "its workspace, {blobs}, is kept on `{scope}`."
WORKSPACE_USED_UP = "its workspace is used up, `{scope}` is the stack without it."
RUNS_BRANCH = "`{condition}` is {holds}, so {runner} runs its {argument} `{net}`."
RUNS_BRANCH_BACK = "`{condition}` was {holds}, so {runner} runs the backward pass of the {argument} `{net}`."
BRANCH_ENDS = "The {argument} `{net}` ends."
BRANCH_ENDS_BACK = "The backward pass of the {argument} `{net}` ends."
ASKS = "{runner} asks whether iteration {number} is to run."
LOOKS_FOR_WORKSPACE = "{runner} looks whether an iteration has left a workspace that is not taken yet."
CONDITION = "The condition `{condition}` is there."
ONE_MORE = "`{condition}` is true: iteration {number} is to run."
ONE_MORE_BACK = "`{condition}` is true: there is one more to go back through."
NO_MORE = "`{condition}` is false: {runner} ends after {iterations}."
ITERATION = "Iteration {number} of {runner} begins."
ITERATION_BACK = "A workspace is left: the backward pass of iteration {number} begins, round {round}."
ITERATION_ENDS = "Iteration {number} ends."
ITERATION_ENDS_BACK = "The backward pass of iteration {number} ends."
