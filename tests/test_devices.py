"""Buffers in a GPU's memory, which the CPU cannot read: with stand-ins for the drivers, built here, and a GPU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from launching import MESSAGES, NODES, expect_ok, mpirun, the_mpi

SOURCES = Path(__file__).parent / "programs/devices"

# What each stand-in is called, and built with.
DRIVERS = {
    "cuda": ("libcuda.so.1", ["-DCUDA"]),
    "hip-6": ("libamdhip64.so.6", ["-DHIP=6"]),
    "hip-5": ("libamdhip64.so.5", ["-DHIP=5"]),
    "level-zero": ("libze_loader.so.1", ["-DZE"]),
    "without-copies": ("without-copies/libcuda.so.1", ["-DCUDA", "-DLACKS_COPIES"]),
}

# Driver, ranks, which of them have their buffers on the device, variables.
SITUATIONS = {
    "everywhere": ("cuda", 2, "all", {}),
    "on-some": ("cuda", 3, "odd", {}),
    "by-messages": ("hip-6", 3, "even", MESSAGES),
    "on-two-nodes": ("level-zero", 3, "odd", NODES),
}


def library(source: str, path: Path, *options: str) -> Path:
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        words = ["cc", "-O1", "-Wall", "-Wno-unused-function", "-shared", "-fPIC", str(SOURCES / source)]
        subprocess.run([*words, "-o", str(path), *options], check=True, timeout=60)
    return path


def on_device(programs: Path, driver: str, ranks: str = "all") -> dict[str, str]:
    name, options = DRIVERS[driver]
    built = library("driver.c", programs / "drivers" / name, *options)
    return {"TEST_DRIVER": str(built), "TEST_DEVICE_RANKS": ranks}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_all_operations_in_all_forms(mpi, build, programs, situation):
    driver, ranks, where, variables = SITUATIONS[situation]
    variables = {**on_device(programs, driver, where), **variables}
    expect_ok(mpirun(mpi, ranks, build("catalogue", mpi), variables=variables, timeout=110))


@pytest.mark.parametrize("memory", ["device", "managed"])
@pytest.mark.parametrize("driver", ["cuda", "hip-6", "hip-5", "level-zero"])
def test_a_driver_that_is_loaded_after_calls_were_kept(mpi, build, programs, driver, memory):
    variables = {**on_device(programs, driver), **({"TEST_MANAGED": "1"} if memory == "managed" else {})}
    expect_ok(mpirun(mpi, 3, build("devices", mpi), variables=variables))


@pytest.mark.skipif(not Path("/dev/nvidia0").exists(), reason="needs a GPU of NVIDIA")
@pytest.mark.parametrize("memory", ["device", "managed"])
def test_a_gpu_itself(mpi, build, programs, memory):
    variables = {"TEST_DRIVER": str(library("cuda.c", programs / "drivers/libgpu.so", "-ldl"))}
    if memory == "managed":
        variables["TEST_MANAGED"] = "1"
    expect_ok(mpirun(mpi, 2, build("devices", mpi), variables=variables))


def test_the_standard_abi(build, programs):
    mpich = the_mpi("mpich")
    program = build("devices", mpich, standard_abi=True)
    expect_ok(mpirun(mpich, 2, program, variables=on_device(programs, "cuda")))


def test_a_driver_that_cannot_copy_is_an_error_of_one_line(mpi, build, programs):
    variables = {**on_device(programs, "without-copies"), "TEST_EXPECT_ERROR": "1"}
    expect_ok(mpirun(mpi, 2, build("devices", mpi), variables=variables))


def test_libraries_are_loaded_by_the_run_path_of_who_loads_them(mpi, build, programs):
    plugins = programs / "plugins"
    library("loader.c", plugins / "libplugin_of_loader.so")
    loader = library("loader.c", programs / "libloader.so", f"-Wl,-rpath,{plugins},--enable-new-dtags")
    expect_ok(mpirun(mpi, 2, build("devices", mpi), str(loader), variables=on_device(programs, "cuda")))
