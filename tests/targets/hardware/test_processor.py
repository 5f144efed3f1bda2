"""The processor from the kernel's files."""

from pathlib import Path

from arbor.targets.hardware.processor import read_processor

_FLAGS = "fpu avx2 fma smep avx512f avx512_bf16 amx_bf16 amx_tile amx_int8 sse4_2"


def test_two_sockets_with_threads(tmp_path: Path) -> None:
    blocks = [
        f"processor\t: {number}\nmodel name\t: Some Xeon\nphysical id\t: {socket}\n"
        f"core id\t\t: {core}\nflags\t\t: {_FLAGS}\n"
        for number, (socket, core) in enumerate(
            (socket, core) for socket in (0, 1) for core in (0, 1) for _ in range(2)
        )
    ]
    (tmp_path / "cpuinfo").write_text("\n".join(blocks))
    for node in ("node0", "node1", "possible"):
        (tmp_path / node).mkdir()
    found = read_processor(tmp_path / "cpuinfo", tmp_path)
    assert (found.name, found.num_sockets, found.num_physical_cores) == ("Some Xeon", 2, 4)
    assert found.num_numa_nodes == 2
    assert found.isa_flags == (
        "amx_bf16",
        "amx_int8",
        "amx_tile",
        "avx2",
        "avx512_bf16",
        "avx512f",
        "fma",
    )


def test_arm(tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("processor: 0\nFeatures: fp asimd sve sve2 bf16 sha2\n")
    found = read_processor(tmp_path / "cpuinfo", tmp_path)
    assert found.isa_flags == ("asimd", "bf16", "sve", "sve2")
    assert (found.num_sockets, found.num_physical_cores) == (None, None)


def test_no_files(tmp_path: Path) -> None:
    found = read_processor(tmp_path / "none", tmp_path / "none")
    assert found.name
    assert (found.num_numa_nodes, found.isa_flags) == (None, ())
