"""Reading optimised HLO."""

from scalify_hlo.aot.hlo_text import parse

TEXT = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f32[8,4]{1,0})->f32[8,4]{1,0}}

%fused_add (p: f32[8,4]) -> f32[8,4] {
  %p = f32[8,4]{1,0} parameter(0)
  ROOT %add.1 = f32[8,4]{1,0} add(%p, %p), metadata={op_name="jit(f)/add"}
}

%body (carry: (s32[], f32[8,4])) -> (s32[], f32[8,4]) {
  %carry = (s32[], f32[8,4]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%carry), index=0
  %x = f32[8,4]{1,0} get-tuple-element(%carry), index=1
  %fusion.1 = f32[8,4]{1,0} fusion(%x), kind=kLoop, calls=%fused_add
  ROOT %t = (s32[], f32[8,4]{1,0}) tuple(%i, %fusion.1)
}

%cond (carry.1: (s32[], f32[8,4])) -> pred[] {
  %carry.1 = (s32[], f32[8,4]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%carry.1), index=0
  %n = s32[] constant(5)
  ROOT %lt = pred[] compare(%i.1, %n), direction=LT
}

ENTRY %main (a: f32[8,4]) -> f32[8,4] {
  %a = f32[8,4]{1,0} parameter(0), metadata={op_name="P[\\'w\\']"}
  %zero = s32[] constant(0)
  %q = f8e4m3fn[8,4]{1,0} fusion(%a), kind=kLoop, calls=%fused_add
  %gemm = (f32[8,8]{1,0}, s8[4194304]{0}) custom-call(%q, %q), METADATA
  %init = (s32[], f32[8,4]{1,0}) tuple(%zero, %a)
  %while.1 = (s32[], /*index=1*/f32[8,4]{1,0}) while(%init), condition=%cond, body=%body, TRIPS
  ROOT %r = f32[8,4]{1,0} get-tuple-element(%while.1), index=1
}
""".replace("TRIPS", 'backend_config={"known_trip_count":{"n":"5"}}').replace(
    "METADATA",
    'custom_call_target="__cublas$lt$matmul$f8", metadata={op_name="jit(f)/scalify.product.3/dot_general"}',
)


def test_instructions_have_types_operands_and_metadata() -> None:
    program = parse(TEXT)
    assert program.entry == "main" and set(program.computations) == {"fused_add", "body", "cond", "main"}
    gemm = program.computations["main"]["gemm"]
    assert gemm.opcode == "custom-call" and gemm.operands == ("q", "q")
    assert gemm.shapes == (("f32", (8, 8)), ("s8", (4194304,)))
    assert gemm.custom_call_target == "__cublas$lt$matmul$f8"
    assert gemm.op_name == "jit(f)/scalify.product.3/dot_general"


def test_kernels_are_counted_as_often_as_their_loop_runs() -> None:
    kernels = {kernel.name: (times, size) for kernel, times, size in parse(TEXT).kernels()}
    assert kernels == {
        "q": (1, 8 * 4 * 4 + 8 * 4),  # reads f32, writes FP8
        "gemm": (1, 2 * 8 * 4 + 8 * 8 * 4),  # the library's scratch memory is no traffic
        "fusion.1": (5, 2 * 8 * 4 * 4),
        "lt": (5, 4 + 4 + 1),
    }


def test_of_what_is_sliced_after_elementwise_operations_the_slice_is_read() -> None:
    text = """HloModule m

%fused (p: f32[8,4], s: f32[]) -> f32[2,4] {
  %p = f32[8,4]{1,0} parameter(0)
  %s = f32[] parameter(1)
  %b = f32[8,4]{1,0} broadcast(%s), dimensions={}
  %m = f32[8,4]{1,0} multiply(%p, %b)
  %h = f16[8,4]{1,0} convert(%m)
  %c = f16[8,4]{1,0} negate(%h)
  ROOT %r = f16[2,4]{1,0} slice(%c), slice={[0:2], [0:4]}
}

ENTRY %main (a: f32[8,4], t: f32[]) -> f16[2,4] {
  %a = f32[8,4]{1,0} parameter(0)
  %t = f32[] parameter(1)
  ROOT %f = f16[2,4]{1,0} fusion(%a, %t), kind=kLoop, calls=%fused
}
"""
    assert [size for _, _, size in parse(text).kernels()] == [2 * 4 * 4 + 4 + 2 * 4 * 2]


def test_a_scatter_changes_rows_of_the_buffer_that_it_adds_to() -> None:
    text = """HloModule m

%fused (p: f32[64,8], i: s32[3,1], u: f32[3,8]) -> f32[64,8] {
  %p = f32[64,8]{1,0} parameter(0)
  %i = s32[3,1]{1,0} parameter(1)
  %u = f32[3,8]{1,0} parameter(2)
  ROOT %s = f32[64,8]{1,0} scatter(%p, %i, %u), update_window_dims={1}, to_apply=%add
}

ENTRY %main (a: f32[64,8], t: s32[3,1], v: f32[3,8]) -> f32[64,8] {
  %a = f32[64,8]{1,0} parameter(0)
  %t = s32[3,1]{1,0} parameter(1)
  %v = f32[3,8]{1,0} parameter(2)
  ROOT %f = f32[64,8]{1,0} fusion(%a, %t, %v), kind=kInput, calls=%fused
}
"""
    assert [size for _, _, size in parse(text).kernels()] == [3 * 8 * 4 * 3 + 3 * 4]
