"""The driver: walks a function in order and lets the rule of each operation rewrite it in place.

In place means: where a rule keeps the operation, the operation stays as it is and its result becomes the *data*
of the result; only the symbolic scale beside it changes. Values that depend on no scaled input are not touched.
"""

from collections.abc import Callable, Sequence

from scalify_hlo import budget
from scalify_hlo.analysis.calls import is_used
from scalify_hlo.analysis.intervals import Divisor, bounded_divisors
from scalify_hlo.analysis.narrow_values import WIDE
from scalify_hlo.bindings import ir
from scalify_hlo.emit.emitter import Emitter, Scope
from scalify_hlo.emit.marks import ScaledTensor, add_mark
from scalify_hlo.emit.narrow_products import Product, narrow_products
from scalify_hlo.emit.shared_sums import Sum, share_sums
from scalify_hlo.emit.stamps import BY_LAW, REMARK, Inheritance, Stamped, put_purpose
from scalify_hlo.engine.facts import FactFinder
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.module.carriers import lay_out, sharding_of, takes_layout
from scalify_hlo.module.identity import identity
from scalify_hlo.module.traits import Trait, names
from scalify_hlo.options import ScalifyOptions
from scalify_hlo.recognition import find_laws
from scalify_hlo.recognition.expansions import Expansion, find_expansions
from scalify_hlo.recognition.free_choices import FreeChoice, find_free_choices
from scalify_hlo.recognition.laws import Law
from scalify_hlo.recognition.range_reductions import find_range_reductions
from scalify_hlo.recognition.replaced_numbers import find_replaced_numbers
from scalify_hlo.recognition.stand_ins import find_stand_ins
from scalify_hlo.rules.mirror import MIRRORED, mirror
from scalify_hlo.rules.oprewrite import OpRewrite, UnsupportedError
from scalify_hlo.rules.plain import scaled_form, unscaled
from scalify_hlo.rules.registry import Rule, refusals, rules
from scalify_hlo.rules.rewriting import Functions
from scalify_hlo.rules.shapes import to_rank_0, uniform_along
from scalify_hlo.rules.values import PlainFacts, ScaledValue
from scalify_hlo.scale import ONE
from scalify_hlo.size.affine import AffineForms
from scalify_hlo.size.moments import UNIT, Moments, of_constant
from scalify_hlo.size.polynomials import PolynomialSum, polynomial_sums
from scalify_hlo.size.state import StateSum, state_sums
from scalify_hlo.types import tensor_info

# Operations whose regions may use values of the surrounding function.
_CAPTURING = names(Trait.CAPTURES)


class Rewriter:
    """Rewrites one function body."""

    def __init__(self, function: ir.Operation, options: ScalifyOptions, functions: Functions):
        self.function = function
        self.options = options
        self.paper = options.rules == "paper"  # nothing is known of the values but their scales
        self.functions = functions
        self.narrow = functions.narrow  # of the operation that is rewritten: narrow values have to do with it
        entry = function.regions[0].blocks[0]
        self.emit = Emitter(entry, function.location, narrow=functions.narrow)
        self.scaled: dict[ir.Value, ScaledValue] = {}
        self.facts = FactFinder(functions.called)
        self.dead: list[ir.Operation] = []
        self.closed: list[ir.Operation] = []  # what was emitted in regions
        self.sums: list[Sum] = []
        self.products: list[Product] = []
        self.copies: list[ir.Operation] = []  # of data that are values of their own meanwhile
        self.stamped: list[Stamped] = []
        # Operations, with their identities, that are to be given shardings at the end, if they are still there.
        self.layouts: list[tuple[int, ir.Operation, ir.Attribute]] = []
        self.laws: dict[ir.Value, Law] = {}  # of results of recognised blocks
        self.state_sums: dict[ir.Value, StateSum] = {}  # sums in which state is updated or averaged
        self.nonnegative_states: set[ir.Value] = set()  # new ones, to which nonnegative values have been added
        self.returned_states: dict[ir.Block, frozenset[int]] = {}  # which results of a block are new state
        self.polynomials: dict[ir.Value, PolynomialSum] = {}
        self.range_reductions: set[ir.Value] = set()
        self.stand_ins: set[ir.Value] = set()  # choices of a number where a tensor is 0
        self.replaced_numbers: set[ir.Value] = set()  # choices between a tensor and a number that is replaced again
        self.free_choices: dict[ir.Value, FreeChoice] = {}  # that a value is one of, or chosen by
        self.bounded_divisors: dict[ir.Value, Divisor] = {}
        self.journals: list[list[ir.Value]] = []
        self._rules = rules()
        self._has_layouts = functions.has_layouts
        self._leaves_traces = options.print_rules or options.mark_tensors
        self.carried: set[ir.Value] = set()
        self.settled: set[ir.Value] = set()  # see `mark_settled`
        self.held: set[ir.Value] = set()  # carried by a loop that brings them back to the scale that they have

    @property
    def slack(self) -> float:
        """How far data of types with the range of f32 may come from unit scaling; elementwise ones a quarter more."""
        return min(self.options.slack, budget.SLACK_BESIDE_NARROW) if self.narrow else self.options.slack

    # --- what is known of values ------------------------------------------------------------------------------

    def define(self, value: ir.Value, scaled: ScaledValue) -> None:
        """Record the scaled form of a value of the original program."""
        self.scaled[value] = scaled
        if self.journals:
            self.journals[-1].append(value)

    def facts_of(self, value: ir.Value) -> PlainFacts:
        """Compile-time facts of a plain value."""
        return self.facts.of(value)

    # --- blocks -----------------------------------------------------------------------------------------------

    def block(self, block: ir.Block, forms: AffineForms | None = None) -> ir.Operation:
        """Rewrite the operations of a block in order; the terminator is left to the caller and returned.

        forms: what is known of its values, before anything in the function is rewritten.
        """
        operations = [op.operation for op in block.operations]
        inside: dict[ir.Operation, Expansion] = {}
        noted: list[ir.Value] = []
        if self.options.recognise in ("all", "blocks") and not self.paper:
            found = find_laws(operations)
            self.laws |= found
            noted += found
        if not self.paper and block.owner.operation.name in ("func.func", "stablehlo.while"):
            forms = forms or AffineForms(self.facts.numbers().number, self.functions.called)
            sums = state_sums(forms, block)
            self.state_sums |= sums
            noted += sums
        if not self.paper:
            polynomials = polynomial_sums(block, operations)
            self.polynomials |= polynomials
            noted += polynomials
        free = {value: each for each in find_free_choices(operations) for value in each.rewritten}
        self.free_choices |= free
        noted += free
        if self.functions.narrow:
            reductions = find_range_reductions(operations)
            divisors = {} if self.paper else bounded_divisors(operations)
            self.range_reductions |= reductions
            if not self.paper:
                number = self.facts.numbers().number
                replaced = find_replaced_numbers(operations, number)
                self.replaced_numbers |= replaced
                noted += replaced
                stand_ins = find_stand_ins(operations, number)
                self.stand_ins |= stand_ins
                noted += stand_ins
            self.bounded_divisors |= divisors
            noted += (*reductions, *divisors)
        if self.journals:
            self.journals[-1].extend(noted)
        if self.options.recognise in ("all", "expansions"):
            inside = {op: expansion for expansion in find_expansions(operations) for op in expansion.members}
        for op in operations[:-1]:
            if not inside or op not in inside or inside[op].root not in self.scaled:
                self.visit(op)
            elif op == inside[op].members[0]:
                self._expansion(inside[op])
        return operations[-1]

    def _expansion(self, found: Expansion) -> None:
        """A function that is written out stays as it is, on the value of the tensor that it is a function of."""
        first, last = found.members[0], found.members[-1]
        emit = self.emit
        emit.ip, emit.location = ir.InsertionPoint(first), first.location
        value = unscaled(self, self.scaled[found.root])
        for op in found.members:
            for i, operand in enumerate(op.operands):
                if operand == found.root:
                    op.operands[i] = value
        rewrite = OpRewrite(self, last, last.name, [None] * len(last.operands))
        rewrite.result(ONE)
        self._leave_behind(rewrite, "expansion")

    def in_block(self, block: ir.Block, anchor: ir.Operation, action: Callable[[ir.Operation], None],
                 *, isolated: bool = False) -> Scope:  # fmt: skip
        """Rewrite a block, then emit what `action` (given the terminator) needs at its end; returns its scope."""
        emit = self.emit
        saved = emit.ip, emit.scope, emit.location
        emit.scope = Scope(block, emit.scope.depth + 1, emit.scope, anchor, isolated)
        try:
            terminator = self.block(block)
            emit.ip, emit.location = ir.InsertionPoint(terminator), terminator.location
            action(terminator)
            return emit.scope
        finally:
            self.closed.extend(emit.scope.emitted)
            emit.ip, emit.scope, emit.location = saved

    def at_end(self, terminator: ir.Operation, scope: Scope, action: Callable[[ir.Operation], None]) -> None:
        """Emit at the end of a block that `in_block` has rewritten."""
        emit = self.emit
        saved = emit.ip, emit.scope, emit.location
        emit.scope = scope
        scope.emitted = []
        emit.ip, emit.location = ir.InsertionPoint(terminator), terminator.location
        try:
            action(terminator)
        finally:
            self.closed.extend(scope.emitted)
            emit.ip, emit.scope, emit.location = saved

    def mark_carried(self, value: ir.Value) -> None:
        """Note that a block argument is carried by a loop: slices of it are updated with scales of their own."""
        self.carried.add(value)
        if self.journals:
            self.journals[-1].append(value)

    def is_carried(self, value: ir.Value) -> bool:
        """Whether a value is carried by a loop."""
        return value in self.carried

    def mark_settled(self, value: ir.Value) -> None:
        """Note that a loop leaves a value at the scale that it has: what is added or written is brought to it."""
        self.settled.add(value)
        if self.journals:
            self.journals[-1].append(value)

    def attempt(self) -> "Attempt":
        """Start a rewriting that may be taken back (a loop body before its fixpoint)."""
        return Attempt(self)

    def visit(self, op: ir.Operation) -> None:
        """Rewrite one operation in place."""
        operands, name = op.operands, op.name
        values = list(operands)
        inputs = list(map(self.scaled.get, values))
        for i, found in enumerate(inputs):
            if found is not None and found.data != values[i]:
                operands[i] = found.data
        if len(op.regions) and name not in _CAPTURING and self.captures_scaled(op):
            self._use_values(op, op)
        if not any(inputs):
            if not self._reached(op, name):
                if self.free_choices:
                    self._number(op)
                return
        elif len(op.results) == 1 and tensor_info(op.results[0].type).is_empty and not len(op.regions):
            # Computed on data as it stands: without elements it fits every scale, and is as large as zeros, not as
            # infinities. Predicates and integers have no scale.
            if tensor_info(op.results[0].type).carries_scale:
                self.define(op.results[0], ScaledValue(op.results[0], ONE, of_constant(0.0), indifferent=True))
            return
        rewrite = OpRewrite(self, op, name, inputs)
        # Looked at before: the rule may erase the operation.
        result = op.results[0] if self._has_layouts and len(op.results) == 1 else None
        sharding = None if result is None else sharding_of(result)
        emit = self.emit
        emit.ip, emit.location = ir.InsertionPoint(op), op.location
        rule = self._rules.get(name)
        before = len(emit.scope.emitted)
        try:
            if rule is None:
                raise UnsupportedError(self._missing(name))
            if emit.has_shapes and not rule.shaped:
                self._to_one_scale(rewrite, rule)
            if self.functions.narrow:
                self._apply(rule, rewrite)
            else:
                rule.apply(rewrite)
            if name in MIRRORED:
                mirror(rewrite)
        except UnsupportedError as unsupported:
            self._unsupported(rewrite, str(unsupported))
        if result is not None and sharding is not None:
            replaced = self.scaled.get(result)
            if replaced is not None and replaced.data != result:
                self.laid_out(replaced.data, sharding)
        if self._leaves_traces:
            self._leave_behind(rewrite, rule.family if rule else "unscaled")
            if self.options.print_rules:
                purpose = f"{name.removeprefix('stablehlo.')}: {rewrite.reason}"
                put_purpose(emit.scope.emitted[before:], purpose)
        return

    def _apply(self, rule: Rule, rewrite: OpRewrite) -> None:
        """Let a rule rewrite its operation, with what is chosen by type as its own values have it."""
        around = self.narrow
        self.narrow = self.emit.narrow = WIDE not in rewrite.op.attributes
        try:
            rule.apply(rewrite)
        finally:
            self.narrow = self.emit.narrow = around

    def laid_out(self, data: ir.Value, sharding: ir.Attribute) -> ir.Value | None:
        """Data that take the place of a result, laid out over devices as that was to be; None if they cannot be."""
        if not takes_layout(data, sharding):
            return None
        if isinstance(data, ir.OpResult):
            op = data.owner.operation
            self.layouts.append((identity(op), op, sharding))
        return data

    def _leave_behind(self, rewrite: OpRewrite, family: str) -> None:
        """What the options ask for beside a rewritten operation: a stamp, a mark."""
        op = rewrite.op
        if self.options.print_rules:
            stamped = rewrite.stamp(family)
            if stamped is not None:
                self.stamped.append(stamped)
            if rewrite.reason != BY_LAW:
                message = f"{REMARK}{rewrite.reason}"
                self.functions.remarks.append(Diagnostic(message, describe_location(op.location), "remark"))
        if self.options.mark_tensors and not self.emit.scope.is_isolated:
            with rewrite.after():
                for result in op.results:
                    self._mark(result, op.location, rewrite.name)

    def mark_arguments(self) -> None:
        """Leave a mark for every scaled argument of the function."""
        for argument in self.function.regions[0].blocks[0].arguments:
            self._mark(argument, argument.location, "argument")

    def _mark(self, value: ir.Value, location: ir.Location, operation: str) -> None:
        found = self.scaled.get(value)
        if found is not None:
            name = location.name_str if isinstance(location, ir.NameLoc) else operation
            tensor = ScaledTensor(name, found.data, self.emit.scale_value(found.scale))
            add_mark(tensor, location, self.emit.ip, operation, found.moments.rms, found.moments.infinite)

    def _to_one_scale(self, rewrite: OpRewrite, rule: Rule) -> None:
        """Bring operands whose scale has a shape to one scale along the dimensions in which the rule knows no other."""
        for i, found in enumerate(rewrite.inputs):
            if found is not None and found.scale.shape:
                mixed = rule.mixes(rewrite, i) if rule.mixes else None
                flat = to_rank_0(self, found) if mixed is None else uniform_along(self, found, mixed)
                rewrite.inputs[i] = flat
                rewrite.set_operand(i, flat.data)

    def _reached(self, op: ir.Operation, name: str) -> bool:
        """Whether an operation without scaled operands has to be rewritten all the same."""
        if name in ("func.call", "stablehlo.composite"):
            return self.functions.calls_marker(op)
        if name in _CAPTURING:
            return self.captures_scaled(op) or self.functions.contains_marker(op)
        return False

    def _number(self, op: ir.Operation) -> None:
        """Numbers that scaled data choose stay as they are."""
        for result in op.results:
            choice = self.free_choices.get(result)
            if choice is not None and result in choice.numbers and choice.size in self.scaled:
                self.define(result, ScaledValue(result, ONE, UNIT))

    def captures_scaled(self, op: ir.Operation) -> bool:
        """Whether an operation inside the regions of `op` uses a scaled value defined outside."""
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    inner = inner.operation
                    if any(operand in self.scaled for operand in inner.operands):
                        return True
                    if len(inner.regions) and self.captures_scaled(inner):
                        return True
        return False

    def _use_values(self, op: ir.Operation, around: ir.Operation) -> None:
        """Let operations inside of the regions of `op`, bodies on elements, use the values of what is scaled outside.

        JAX writes none such, and XLA's importer takes none; StableHLO allows them.
        """
        self.emit.ip, self.emit.location = ir.InsertionPoint(around), around.location
        for region in op.regions:
            for block in region.blocks:
                for each in block.operations:
                    inner = each.operation
                    for i, operand in enumerate(inner.operands):
                        found = self.scaled.get(operand)
                        if found is not None:
                            inner.operands[i] = unscaled(self, found, element=tensor_info(operand.type).element)
                    if len(inner.regions):
                        self._use_values(inner, around)

    # --- operations without a rule ----------------------------------------------------------------------------

    def _missing(self, name: str) -> str:
        refusal = refusals().get(name)
        return f"'{name}' cannot be scaled: {refusal.reason}" if refusal else f"no scale rule for '{name}'"

    def _unsupported(self, rewrite: OpRewrite, reason: str) -> None:
        where = describe_location(rewrite.op.location)
        if self.options.on_unsupported == "unscale":
            rewrite.through_plain()
            message = f"{reason}; computed on recombined values"
            self.functions.remarks.append(Diagnostic(message, where, "remark"))
            return
        advice = "rewrite with --on-unsupported=unscale to compute it on recombined values, or register a rule"
        self.functions.errors.append(Diagnostic(f"{reason}; {advice}", where))
        for result in rewrite.op.results:
            if tensor_info(result.type).carries_scale:
                # Go on with a scale of which nothing is known, to find every unsupported operation of the module.
                unknown = self.emit.op("convert", self.emit.scalar, self.emit.scale_value(ONE))
                self.define(result, ScaledValue(result, self.emit.as_scale(unknown)))

    def finish(self) -> None:
        """Erase what has been replaced and what has become unused by it."""
        for copy in self.copies:
            copy.results[0].replace_all_uses_with(copy.operands[0])
        stamps = Inheritance(self.stamped)
        erased = erase_dead([*self.emit.scope.emitted, *self.closed, *self.dead], stamps)
        stamps.settle(erased)
        for key, op, sharding in self.layouts:
            if key not in erased:
                lay_out(op, sharding)
        share_sums(self.sums, erased)
        narrow_products(self.products, erased)

    def as_scaled(self, value: ir.Value) -> ScaledValue:
        """The scaled form of any value: a plain one gets a constant scale from what is known of it."""
        found = self.scaled.get(value)
        if found is not None:
            return found
        return scaled_form(self, value)

    def moments(self, moments: Moments) -> Moments:
        """Moments as the rules may use them: the paper's rules assume unit Gaussians."""
        return UNIT if self.paper else moments

    def raise_errors(self) -> None:
        """Raise everything found wrong so far."""
        if self.functions.errors:
            raise ScalifyError(self.functions.errors)


class Attempt:
    """Undo log of a speculative rewriting: forgets what was learnt of values that are going to be erased."""

    def __init__(self, rewriter: Rewriter):
        self.rewriter = rewriter
        self.journal: list[ir.Value] = []
        # Its own: facts are also asked of values from outside the attempt, and those keep their scaled forms.
        self.learnt: list[ir.Value] = []
        self.errors = len(rewriter.functions.errors)
        self.remarks = len(rewriter.functions.remarks)
        self.dead = len(rewriter.dead)
        self.closed = len(rewriter.closed)
        self.sums, self.products, self.copies = len(rewriter.sums), len(rewriter.products), len(rewriter.copies)
        self.layouts = len(rewriter.layouts)
        self.stamped = len(rewriter.stamped)
        rewriter.journals.append(self.journal)
        rewriter.facts.learnt.append(self.learnt)

    def keep(self) -> None:
        """The rewriting stands."""
        self.rewriter.journals.pop()
        self.rewriter.facts.learnt.pop()
        if self.rewriter.journals:
            self.rewriter.journals[-1].extend(self.journal)
            self.rewriter.facts.learnt[-1].extend(self.learnt)

    def discard(self) -> None:
        """The rewriting is taken back; the caller erases its operations."""
        rewriter = self.rewriter
        rewriter.journals.pop()
        rewriter.facts.learnt.pop()
        for value in self.journal:
            rewriter.scaled.pop(value, None)
            rewriter.laws.pop(value, None)
            rewriter.state_sums.pop(value, None)
            rewriter.polynomials.pop(value, None)
            rewriter.range_reductions.discard(value)
            rewriter.replaced_numbers.discard(value)
            rewriter.stand_ins.discard(value)
            rewriter.free_choices.pop(value, None)
            rewriter.bounded_divisors.pop(value, None)
            rewriter.carried.discard(value)
            rewriter.settled.discard(value)
            rewriter.held.discard(value)
        for value in self.learnt:
            rewriter.facts.forget(value)
        del rewriter.functions.errors[self.errors :]
        del rewriter.functions.remarks[self.remarks :]
        del rewriter.dead[self.dead :]
        del rewriter.closed[self.closed :]
        del rewriter.sums[self.sums :]
        del rewriter.products[self.products :]
        del rewriter.copies[self.copies :]
        del rewriter.layouts[self.layouts :]
        del rewriter.stamped[self.stamped :]


def erase_dead(candidates: Sequence[ir.Operation], stamps: Inheritance | None = None) -> set[int]:
    """Erase operations whose results have no use, and then the operations that fed only them; returns their
    identities.

    stamps: is told of each before it is erased.
    """
    work = [(identity(op), op) for op in candidates]
    erased: set[int] = set()
    while work:
        key, op = work.pop()
        if key in erased or is_used(op):
            continue
        for operand in op.operands:
            owner = operand.owner
            if not isinstance(owner, ir.Block) and owner.name in _PURE:
                work.append((identity(owner.operation), owner.operation))
        erased.add(key)
        if stamps is not None:
            stamps.note(key, op)
        op.erase()
    return erased


_PURE = names(Trait.FUNCTION, without=Trait.BODY)
