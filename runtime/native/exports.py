"""What the native image exports: name → (module, function, signature). Pure data.

To add a native function, decorate it with `native(signature)` in any module of the runtime and list it here;
functions that it calls need no entry. Types: int64, float32, float64, and void as a result.
"""

#: In front of an export's name in the image.
EXPORT_PREFIX = "pyiree_"

_OBJECTS = "pyiree.runtime.native.objects"


def _rows(module: str, **functions: str) -> dict[str, tuple[str, str, str]]:
    return {name: (module, name, signature) for name, signature in functions.items()}


def _imports(module: str, *functions: str) -> dict[str, tuple[str, str, str]]:
    """Functions that bytecode imports: `status fn(module state, arguments, results)`."""
    return {name: (module, name, "int64(int64,int64,int64)") for name in functions}


EXPORTS: dict[str, tuple[str, str, str]] = {
    **_rows(
        _OBJECTS,
        retain="void(int64)",
        release="void(int64)",
        python_object_create="int64(int64,int64,int64)",
        python_object_destroy="void(int64)",
        take_pending="int64()",
        buffer_wrap="int64(int64,int64,int64,int64)",
        buffer_allocate="int64(int64,int64)",
        buffer_destroy="void(int64)",
        list_allocate="int64(int64,int64)",
        list_resize="int64(int64,int64)",
        list_destroy="void(int64)",
    ),
    **_rows(
        "pyiree.runtime.vm.interpreter",
        vm_invoke="int64(int64,int64,int64,int64,int64)",
        vm_resume="int64(int64)",
        vm_abort="void(int64)",
        vm_free_pool="void(int64)",
    ),
    **_rows("pyiree.runtime.vm.verify_code", vm_verify="int64(int64)"),
    **_rows(
        "pyiree.runtime.task.queue",
        executor_create="int64(int64)",
        executor_reset_after_fork="void(int64)",
        executor_stop="void(int64)",
        worker_main="int64(int64,int64,int64)",
        submit="int64(int64,int64)",
        wait_for_word="int64(int64,int64,int64)",
        cancel_submissions="int64(int64,int64,int64,int64)",
        help_once="int64(int64)",
        take_node="int64(int64)",
        give_node="void(int64,int64)",
    ),
    **_rows("pyiree.runtime.task.lock", acquire_lock="void(int64)", release_lock="void(int64)"),
    **_rows(
        "pyiree.runtime.hal.allocator",
        pool_create="int64(int64)",
        pool_trim="int64(int64)",
    ),
    **_rows(
        "pyiree.runtime.hal.buffer",
        hal_buffer_allocate="int64(int64,int64,int64,int64)",
        hal_buffer_wrap="int64(int64,int64,int64,int64,int64,int64)",
        hal_buffer_destroy="void(int64)",
        hal_view_create="int64(int64,int64,int64,int64,int64,int64,int64)",
        hal_view_destroy="void(int64)",
        buffer_keep="int64(int64,int64)",
    ),
    **_rows(
        "pyiree.runtime.hal.fence",
        hal_fence_create="int64(int64)",
        hal_fence_destroy="void(int64)",
        fence_state="int64(int64)",
    ),
    **_rows(
        "pyiree.runtime.hal.transfer",
        kernel_fill="int64(int64,int64,int64)",
        kernel_copy="int64(int64,int64,int64)",
    ),
    **_rows("pyiree.runtime.hal.command_buffer", hal_commands_destroy="void(int64)"),
    **_rows(
        "pyiree.runtime.hal.executable_object",
        hal_executable_create="int64(int64,int64,int64,int64)",
        hal_executable_destroy="void(int64)",
    ),
    **_rows("pyiree.runtime.hal.instance", instance_destroy="void(int64)"),
    **_rows(
        "pyiree.runtime.hal.queue",
        settle_waiters="int64(int64)",
        instance_on_done="int64(int64)",
        fence_signal="void(int64,int64)",
    ),
    **_rows(
        "pyiree.runtime.modules.hal_buffer",
        hal_object_free="void(int64)",
        hal_allocator_create="int64(int64)",
        hal_file_destroy="void(int64)",
    ),
    **_rows("pyiree.runtime.modules.hal_queue", hal_fence_wait="int64(int64,int64)"),
    **_imports(
        "pyiree.runtime.modules.hal_buffer",
        "hal_devices_count",
        "hal_devices_get",
        "hal_device_allocator",
        "hal_allocator_allocate",
        "hal_allocator_import",
        "hal_allocator_select",
        "hal_import_buffer_assert",
        "hal_import_buffer_subspan",
        "hal_import_buffer_length",
        "hal_import_buffer_load",
        "hal_import_buffer_store",
        "hal_import_buffer_allocation",
        "hal_import_buffer_view_create",
        "hal_import_buffer_view_assert",
        "hal_import_buffer_view_buffer",
        "hal_import_buffer_view_element_type",
        "hal_import_buffer_view_encoding_type",
        "hal_import_buffer_view_rank",
        "hal_import_buffer_view_dim",
        "hal_import_file_from_memory",
    ),
    **_imports(
        "pyiree.runtime.modules.hal_command_buffer",
        "hal_import_command_buffer_create",
        "hal_import_command_buffer_finalize",
        "hal_import_command_buffer_execution_barrier",
        "hal_import_command_buffer_note",
        "hal_import_command_buffer_fill_buffer",
        "hal_import_command_buffer_update_buffer",
        "hal_import_command_buffer_copy_buffer",
        "hal_import_command_buffer_dispatch",
        "hal_import_command_buffer_dispatch_indirect",
        "hal_import_executable_lookup_function",
    ),
    **_imports(
        "pyiree.runtime.modules.hal_queue",
        "hal_import_queue_alloca",
        "hal_import_queue_dealloca",
        "hal_import_queue_barrier",
        "hal_import_queue_flush",
        "hal_import_queue_fill",
        "hal_import_queue_update",
        "hal_import_queue_copy",
        "hal_import_queue_read",
        "hal_import_queue_write",
        "hal_import_queue_execute",
        "hal_import_queue_execute_indirect",
        "hal_import_fence_create",
        "hal_import_fence_join",
        "hal_import_fence_query",
        "hal_import_fence_signal",
        "hal_import_fence_fail",
        "hal_import_fence_await",
    ),
    **_rows(
        "pyiree.runtime.modules.lapack_native",
        fortran_batch="void(int64,int64,int64)",
        lapack_run_plan="int64(int64,int64,int64,int64)",
    ),
    **_imports("pyiree.runtime.modules.lapack_native", "lapack_call"),
    **_rows(
        "pyiree.runtime.calls.entry",
        program_entry="int64(int64,int64)",
    ),
    **_rows("pyiree.runtime.calls.caller", caller_entry="int64(int64,int64,int64,int64)"),
    **_rows(
        "pyiree.runtime.calls.call",
        program_free_instances="void(int64)",
        root_capsule_free="void(int64)",
        block_capsule_free="void(int64)",
    ),
}
