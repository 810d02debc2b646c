"""Compiling and running modules on XLA:CPU."""

import contextlib
import dataclasses
import functools
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax as _jax
import numpy as np

from scalify_hlo.bindings import ir, sharding_from_hlo, xla_client
from scalify_hlo.errors import Diagnostic, ScalifyError, describe_location
from scalify_hlo.execution.element_types import Array
from scalify_hlo.execution.memory import Memory
from scalify_hlo.execution.modules import as_module, clone, operations, to_bytecode
from scalify_hlo.execution.signature import Signature, check_arrays, entry_signature, name_entry_main
from scalify_hlo.passes.cpu_scales import CPUScales
from scalify_hlo.passes.widen_dots import WidenDots

jax: Any = _jax  # most of its types are unknown to a strict checker


@dataclasses.dataclass(frozen=True)
class CostCounters:
    """Size of an optimised HLO module; counts are static (a loop's body counts once).

    lines: lines of its text.
    instructions: instructions, those inside fusions included.
    kernels: instructions that run as a unit of their own: fusions, dots, convolutions, custom calls, copies, ...
    """

    lines: int
    instructions: int
    kernels: int


class Executable:
    """A compiled module: call it with one array for each argument, get one array for each result."""

    def __init__(self, loaded: Any, signature: Signature, devices: Sequence[Any], compile_seconds: float):
        self._loaded = loaded
        self._devices = tuple(devices)
        self.signature = signature
        self.compile_seconds = compile_seconds

    def __call__(self, arrays: Sequence[Array]) -> list[Array]:
        """Raises ScalifyError when the arrays do not have the arguments' shapes and dtypes."""
        arrays = [np.asarray(array) for array in arrays]
        check_arrays(self.signature.arguments, arrays)
        with jax.enable_x64(True):
            return self._fetch(self._execute(self._put(arrays)))

    def seconds_per_call(
        self, arrays: Sequence[Array], repeats: int, clock: Callable[[], float] = time.perf_counter
    ) -> list[float]:
        """Seconds of each of `repeats` executions, inputs on the device, transfers not counted.

        clock: what tells them; `time.process_time` for CPU seconds of all threads.
        """
        arrays = [np.asarray(array) for array in arrays]
        check_arrays(self.signature.arguments, arrays)
        seconds: list[float] = []
        with jax.enable_x64(True):
            for _ in range(repeats):
                buffers = self._put(arrays)  # anew each time: an argument may be donated
                jax.block_until_ready(buffers)
                start = clock()
                results = self._execute(buffers)
                for shards in results:
                    jax.block_until_ready(shards)
                seconds.append(clock() - start)
        return seconds

    def as_text(self) -> str:
        """The optimised HLO."""
        return "\n".join(module.to_string() for module in self._loaded.hlo_modules())

    @functools.cached_property
    def bytes_accessed(self) -> int:
        """Bytes that the optimised program's kernels read and write, as XLA counts them."""
        return int(self._loaded.cost_analysis()["bytes accessed"])

    @functools.cached_property
    def memory(self) -> Memory:
        """Bytes of arguments, results and temporary buffers."""
        return Memory.of(self._loaded)

    @functools.cached_property
    def cost(self) -> CostCounters:
        return count_cost(self.as_text())

    def _put(self, arrays: Sequence[Array]) -> list[Any]:
        shardings = self._shardings(self._loaded.get_parameter_shardings(), len(arrays))
        # Copied, because XLA:CPU may use NumPy's memory in place, and a donated argument is overwritten.
        return [
            jax.device_put(np.array(array, copy=True), sharding)
            for array, sharding in zip(arrays, shardings, strict=True)
        ]

    def _execute(self, buffers: Sequence[Any]) -> list[Any]:
        return self._loaded.execute_sharded(buffers).disassemble_into_single_device_arrays()

    def _fetch(self, results: Sequence[Any]) -> list[Array]:
        if len(self._devices) == 1:
            return [np.asarray(shards[0]) for shards in results]
        shardings = self._shardings(self._loaded.get_output_shardings(), len(results))
        return [
            np.asarray(jax.make_array_from_single_device_arrays(spec.shape, sharding, shards))
            for spec, sharding, shards in zip(self.signature.results, shardings, results, strict=True)
        ]

    def _shardings(self, annotations: Sequence[Any] | None, count: int) -> list[Any]:
        """One sharding for each of `count` values; those without an annotation are replicated."""
        if len(self._devices) == 1:
            return [jax.sharding.SingleDeviceSharding(self._devices[0])] * count
        if annotations is None or len(annotations) != count:
            annotations = [None] * count
        mesh = jax.sharding.Mesh(np.array(self._devices), ("devices",))
        replicated = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        return [replicated if a is None else sharding_from_hlo(self._devices, a) for a in annotations]


def compile(  # noqa: A001 - read as xla.compile
    module: str | bytes | ir.Module, *, excess_precision: bool = False
) -> Executable:
    """Compile `module` (text, bytecode or ir.Module, left unchanged) for XLA:CPU.

    excess_precision: whether XLA may keep f16 and bf16 values in a wider type between operations. Off by default, so
        that a narrowing convert rounds where the program says so; on is XLA's own default.

    Raises ScalifyError when XLA refuses the module, and when it wants more devices than there are.
    """
    module = as_module(module)
    signature = entry_signature(module)
    partitions = _integer_attribute(module, "mhlo.num_partitions")
    if _integer_attribute(module, "mhlo.num_replicas") > 1:
        raise ScalifyError("the module wants several replicas (mhlo.num_replicas); only partitions are supported")
    devices = _devices(partitions)
    calls = [op for op in operations(module) if op.name == "stablehlo.custom_call"]
    _refuse_callbacks(calls)
    if calls:
        _register_custom_calls()
    client = xla_client()
    options = client.CompileOptions()
    options.num_partitions = partitions
    options.device_assignment = client.DeviceAssignment.create(np.array([[device.id for device in devices]]))
    options.executable_build_options.num_partitions = partitions
    options.executable_build_options.use_spmd_partitioning = partitions > 1
    options.executable_build_options.use_shardy_partitioner = partitions > 1
    options.env_option_overrides = [("xla_allow_excess_precision", excess_precision)]
    named = clone(module)
    name_entry_main(named)
    with named.context:
        WidenDots().apply(named, [])
        CPUScales(calls=partitions == 1).apply(named, [])
    code = to_bytecode(named)
    start = time.perf_counter()
    try:
        loaded = devices[0].client.compile_and_load(code, client.DeviceList(tuple(devices)), options)
    except (jax.errors.JaxRuntimeError, ValueError) as error:
        raise ScalifyError(f"XLA:CPU does not compile the module: {error}") from error
    return Executable(loaded, signature, devices, time.perf_counter() - start)


def _devices(count: int) -> list[Any]:
    """The first `count` CPU devices; makes that many where JAX has not started its backends yet."""
    if count > 1:
        with contextlib.suppress(RuntimeError):  # the backends are up: what there is must do
            jax.config.update("jax_num_cpu_devices", count)
    devices = jax.devices("cpu")
    if len(devices) < count:
        raise ScalifyError(
            f"the module is partitioned over {count} devices, but JAX has {len(devices)} CPU devices; set "
            f"XLA_FLAGS=--xla_force_host_platform_device_count={count}"
        )
    return devices[:count]


def _refuse_callbacks(calls: Sequence[ir.Operation]) -> None:
    """Raise ScalifyError, a line for each call of a Python function: XLA would read an address that is none."""
    targets = [(call, ir.StringAttr(call.attributes["call_target_name"]).value) for call in calls]
    message = (
        "custom_call @{} calls a Python function, which is not in the file: it cannot be run from there; "
        "export the program without pure_callback, io_callback and debug.print, or run it by scalify"
    )
    found = [
        Diagnostic(message.format(target), describe_location(call.location))
        for call, target in targets
        if "python" in target and target.endswith("callback")
    ]
    if found:
        raise ScalifyError(found)


@functools.cache
def _register_custom_calls() -> None:
    """Make JAX register its LAPACK kernels, which it does while it lowers a function that needs them."""

    def kernels(x: Any) -> Any:
        return jax.numpy.linalg.svd(jax.numpy.linalg.cholesky(x))

    jax.jit(kernels).lower(np.eye(2, dtype=np.float32))


def _integer_attribute(module: ir.Module, name: str) -> int:
    attributes: Any = module.operation.attributes
    return int(attributes[name].value) if name in attributes else 1


# `%name (parameters) -> type {`, `ENTRY %main ... {`
_COMPUTATION = re.compile(r"^(ENTRY )?%?([\w.-]+) (?:\(.*\) -> .* )?\{$")
# `  ROOT %name = type opcode(`: the opcode is the first lower-case word before a parenthesis
_INSTRUCTION = re.compile(r"^\s+(?:ROOT )?%?[\w.-]+ = .*?\s([a-z][\w-]*)\(")
_CALLED = re.compile(
    r"(?:body|condition|branch_computations|true_computation|false_computation|to_apply)=(\{[^}]*\}|\S+)"
)
# A call that XLA:CPU compiles to one kernel.
_ONE_KERNEL = 'xla_cpu_small_call="true"'
_CONTROL_FLOW = frozenset({"while", "conditional", "call"})
_FREE = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all", "partition-id"})


def count_cost(hlo_text: str) -> CostCounters:
    """Count an optimised HLO module's text."""
    lines = hlo_text.splitlines()
    opcodes: dict[str, list[str]] = {}
    called: dict[str, set[str]] = {}
    entry = name = ""
    for line in lines:
        head = _COMPUTATION.match(line)
        if head:
            name = head.group(2)
            opcodes[name], called[name] = [], set()
            entry = name if head.group(1) else entry
            continue
        found = _INSTRUCTION.match(line)
        if not found or not name:
            continue
        opcode = found.group(1)
        if opcode == "call" and _ONE_KERNEL in line:
            opcode = "fusion"
        opcodes[name].append(opcode)
        if opcode in _CONTROL_FLOW:
            for names in _CALLED.findall(line):
                called[name].update(part.strip(" {},%") for part in names.split(","))
    kernels, todo, seen = 0, [entry], {entry}
    while todo:
        current = todo.pop()
        kernels += sum(op not in _FREE and op not in _CONTROL_FLOW for op in opcodes.get(current, ()))
        todo += called.get(current, set()) - seen
        seen |= called.get(current, set())
    return CostCounters(len(lines), sum(map(len, opcodes.values())), kernels)
