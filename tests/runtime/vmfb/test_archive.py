"""Modules as files: written and read back, flat and ZIP, ours and IREE's; damaged ones refused."""

import io
import random
import struct
import zipfile

import pytest
from pyiree.runtime.vmfb import archive, schema
from pyiree.runtime.vmfb.assemble import FunctionAssembler, ModuleAssembler
from pyiree.runtime.vmfb.errors import ModuleError


def sample() -> schema.ModuleDef:
    module = ModuleAssembler("sample")
    module.dependency("hal", 7)
    module.import_function("hal.devices.count", "0v_i")
    module.type("!vm.buffer")
    module.rodata(b"small")
    module.rodata(bytes(range(256)) * 20, external=True, name="blob.bin")
    module.rodata(b"", external=True, name="empty.bin")
    module.rodata(b"x" * 100, external=True, name="other.so")
    module.global_value(8)
    module.global_ref()
    function = FunctionAssembler("0ii_i")
    function.block("entry")
    function.op("add.i32", 0, 1, 2)
    function.op("return", [2])
    module.add_function(function, export="add", attributes={"iree.abi.declaration": "sync func @add(…)"})
    definition = module.build()
    definition.debug_database = schema.DebugDatabaseDef(
        bytes([2, 0, 1, 3, 4]),
        [
            schema.FileLineColLocDef("a.py", 3, 4), None, schema.CallSiteLocDef(0, 1),
            schema.FusedLocDef("", [0, 2]), schema.NameLocDef("name", 0),
        ],
        [schema.FunctionSourceMapDef("add", [schema.BytecodeLocation(1, 0), schema.BytecodeLocation(8, 4)])],
    )
    return definition


def comparable(module: schema.ModuleDef) -> dict:
    fields = {name: getattr(module, name) for name in module.__dataclass_fields__}
    fields["rodata_segments"] = [bytes(segment.data) for segment in module.rodata_segments]
    fields["bytecode_data"] = bytes(module.bytecode_data)
    database = fields.pop("debug_database")
    if database is not None:
        fields["locations"] = (bytes(database.location_types), database.location_table, database.functions)
    return fields


@pytest.mark.parametrize("polyglot_zip", [False, True])
def test_round_trip(polyglot_zip):
    module = sample()
    content = archive.write_module(module, polyglot_zip=polyglot_zip)
    assert comparable(archive.read_module(content, debug_database=True)) == comparable(module)
    assert archive.read_module(content).debug_database is None


@pytest.mark.parametrize("polyglot_zip", [False, True])
def test_rodata_is_aligned_in_the_file(polyglot_zip):
    content = archive.write_module(sample(), polyglot_zip=polyglot_zip)
    for segment in archive.read_module(content).rodata_segments:
        if segment.external_data is not None and len(segment.data):
            assert content.index(bytes(segment.data)) % 64 == 0
        elif len(segment.data):
            assert content.index(bytes(segment.data)) % 16 == 0


def test_zip_is_a_zip():
    module = sample()
    with zipfile.ZipFile(io.BytesIO(archive.write_module(module, polyglot_zip=True))) as files:
        assert files.testzip() is None
        assert files.namelist() == ["module.fb", "blob.bin", "empty.bin", "other.so"]
        assert files.read("blob.bin") == bytes(module.rodata_segments[1].data)


@pytest.mark.parametrize("polyglot_zip", [False, True])
def test_iree_reads_what_we_write(iree_tool, tmp_path, polyglot_zip):
    path = tmp_path / "module.vmfb"
    module = ModuleAssembler("sample")
    module.rodata(b"a" * 5000, external=True)
    function = FunctionAssembler("0ii_i")
    function.block("entry")
    function.op("add.i32", 0, 1, 2)
    function.op("return", [2])
    module.add_function(function, export="add")
    path.write_bytes(archive.write_module(module.build(), polyglot_zip=polyglot_zip))
    done = iree_tool("iree-run-module", f"--module={path}", "--function=add", "--input=5", "--input=-7",
                     "--device=local-sync")
    assert "i32=-2" in done.stdout
    assert "sample" in iree_tool("iree-dump-module", path).stdout


@pytest.mark.parametrize("flags", [(), ("--iree-vm-emit-polyglot-zip=false",)])
def test_irees_modules_are_read_and_rewritten(iree_tool, tmp_path, flags):
    source, output = tmp_path / "a.mlir", tmp_path / "a.vmfb"
    source.write_text(
        """func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
          %0 = arith.addf %a, %a : tensor<4xf32>
          return %0 : tensor<4xf32>
        }"""
    )
    iree_tool("iree-compile", "--iree-hal-target-device=local",
              "--iree-hal-local-target-device-backends=llvm-cpu", *flags, source, "-o", output)
    module = archive.read_module(archive.open_module_file(output), debug_database=True)
    assert [item.name for item in module.dependencies] == ["hal"]
    assert any(bytes(segment.data[:4]) == b"\x7fELF" for segment in module.rodata_segments)
    for polyglot_zip in (False, True):
        again = archive.write_module(module, polyglot_zip=polyglot_zip)
        assert comparable(archive.read_module(again, debug_database=True)) == comparable(module)
        rewritten = tmp_path / "again.vmfb"  # the first file is still mapped
        rewritten.write_bytes(again)
        done = iree_tool("iree-run-module", f"--module={rewritten}", "--function=main", "--input=4xf32=1,2,3,4",
                         "--device=local-sync")
        assert "4xf32=2 4 6 8" in done.stdout


def test_every_truncation_and_many_flips_are_errors_or_modules():
    content = archive.write_module(sample())
    for length in range(len(content)):
        try:
            archive.read_module(content[:length], debug_database=True)
        except ModuleError:
            continue
        assert length > len(content) - 100
    numbers = random.Random(0)
    for _ in range(3000):
        damaged = bytearray(content)
        for _ in range(numbers.choice((1, 1, 2, 4))):
            damaged[numbers.randrange(len(content) - 5220)] = numbers.randrange(256)
        try:
            archive.read_module(damaged, debug_database=True)
        except ModuleError as error:
            assert str(error)


def test_shared_tables_do_not_blow_up():
    """Items that all point at one large table would make as much work as their product."""
    module = ModuleAssembler("bomb").build()
    module.function_signatures = [
        schema.FunctionSignatureDef("0v_v", [schema.AttrDef("k", "v")] * 200),
        *[schema.FunctionSignatureDef("0v_v") for _ in range(3000)],
    ]
    content = bytearray(archive.write_module(module))
    signatures = find_vector(content, 3001)
    (first,) = struct.unpack_from("<I", content, signatures)
    for k in range(3001):
        struct.pack_into("<I", content, signatures + 4 * k, first - 4 * k)
    with pytest.raises(ModuleError, match="more tables than bytes"):
        archive.read_module(content)


def find_vector(content: bytes, count: int) -> int:
    """Where the items of the only vector of that length start."""
    return content.index(struct.pack("<I", count)) + 4


def test_missing_parts():
    with pytest.raises(ValueError, match="neither embedded nor external"):
        archive.write_module(schema.ModuleDef(name="x", rodata_segments=[schema.RodataSegmentDef()]))
    with pytest.raises(ValueError, match=r"ModuleDef\.name must be given"):
        archive.write_module(schema.ModuleDef(name=None))
