"""Compiles and runs programs with IREE, many in one process: `python iree_worker.py FOLDER`.

Enters: FOLDER/jobs.json, a list of {"source": file or null, "phase": where IREE's compiler begins, "vmfb": file,
"devices": drivers to run it on, "inputs": arrays}. Leaves: the `.vmfb` files of the jobs
with a source, FOLDER/results.json with an error message or the arrays that are results for each device of each job.
An array is {"path": file of its bytes, "shape": its sizes, "type": the HAL's number for its element type}.
"""

import ctypes
import json
import pathlib
import sys

import numpy as np

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
    "--iree-input-demote-f64-to-f32=false",
)


def compile_program(session, text, phase, output_path):
    """Compiles text from a phase of IREE's; phases that the Python API has no name for are set in the library."""
    from iree.compiler.api import Invocation, Output, Source, ctypes_dl

    source = Source.wrap_buffer(session, text + b"\0")
    invocation = Invocation(session)
    invocation.enable_console_diagnostics()
    if phase != "stablehlo":
        set_phase = ctypes_dl._dylib.ireeCompilerInvocationSetCompileFromPhase
        set_phase.argtypes, set_phase.restype = (ctypes.c_void_p, ctypes.c_char_p), None
        set_phase(invocation._inv_p, phase.encode())
    if not invocation.parse_source(source) or not invocation.execute():
        raise RuntimeError("does not compile")
    output = Output.open_file(str(output_path))
    invocation.output_vm_bytecode(output)
    output.keep()
    output.close()
    invocation.close()


def run_program(path, driver, inputs):
    """Calls `main` on a driver's device; gives shape, element type and bytes of each result."""
    import iree.runtime as rt

    config = rt.Config(device=rt.get_device(driver))
    module = rt.VmModule.mmap(config.vm_instance, str(path))
    context = rt.VmContext(config.vm_instance, modules=[*config.default_vm_modules, module])
    arguments, results = rt.VmVariantList(len(inputs)), rt.VmVariantList(1)
    for described in inputs:
        buffer = config.device.allocator.allocate_buffer_copy(
            rt.MemoryType.DEVICE_LOCAL | rt.MemoryType.HOST_VISIBLE,
            rt.BufferUsage.DEFAULT | rt.BufferUsage.MAPPING,
            config.device,
            np.fromfile(described["path"], np.uint8),
        )
        arguments.push_ref(rt.HalBufferView(buffer, described["shape"], described["type"]))
    context.invoke(module.lookup_function("main"), arguments, results)
    found = []
    for i in range(len(results)):
        view = results.get_as_object(i, rt.HalBufferView)
        size = view.byte_length
        # Copies: what IREE gives maps the device's memory.
        content = bytes(view.map().asarray([size], np.dtype(np.uint8))) if size else b""
        found.append((list(view.shape), int(view.element_type), content))
    return found


def main(folder):
    """Runs all jobs of a folder."""
    from iree.compiler.api import Session

    jobs = json.loads((folder / "jobs.json").read_text())
    sessions = {}
    results = []
    for number, job in enumerate(jobs):
        print(f"job {number}: {job}", file=sys.stderr, flush=True)
        outputs = {}
        try:
            if job["source"] is not None:
                key = job["phase"] == "stablehlo"
                if key not in sessions:
                    sessions[key] = Session()
                    sessions[key].set_flags(*FLAGS, *(["--iree-input-type=stablehlo"] if key else []))
                compile_program(sessions[key], pathlib.Path(job["source"]).read_bytes(), job["phase"], job["vmfb"])
            for device in job["devices"]:
                outputs[device] = []
                for i, (shape, kind, content) in enumerate(run_program(job["vmfb"], device, job["inputs"])):
                    path = folder / f"{number}-{device}-{i}"
                    path.write_bytes(content)
                    outputs[device].append({"path": str(path), "shape": shape, "type": kind})
            results.append({"error": None, "outputs": outputs})
        except Exception as error:
            results.append({"error": f"{type(error).__name__}: {error}", "outputs": outputs})
    (folder / "results.json").write_text(json.dumps(results))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
