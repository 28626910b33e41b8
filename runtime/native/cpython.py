"""CPython's own functions, for native code that holds the GIL.

Enters: addresses of Python objects. Leaves: what CPython gives; 0 for an object means that Python's error is set.
"""

from pyiree.runtime.native.intrinsics import I32, VOID, extern

py_incref = extern("Py_IncRef", 1, VOID)
py_decref = extern("Py_DecRef", 1, VOID)
py_vectorcall = extern("PyObject_Vectorcall", 4)
py_vectorcall_method = extern("PyObject_VectorcallMethod", 4)
py_new_object = extern("PyType_GenericAlloc", 2)
py_equal = extern("PyObject_RichCompareBool", 3, I32)
py_list_new = extern("PyList_New", 1)
py_tuple_new = extern("PyTuple_New", 1)
py_dict_new = extern("PyDict_New", 0)
py_dict_get = extern("PyDict_GetItemWithError", 2)
py_dict_set = extern("PyDict_SetItem", 3, I32)
py_dict_size = extern("PyDict_Size", 1)
py_dict_next = extern("PyDict_Next", 4, I32)
py_long = extern("PyLong_FromLongLong", 1)
py_as_long = extern("PyLong_AsLongLong", 1)
py_as_long_and_overflow = extern("PyLong_AsLongLongAndOverflow", 2)
py_capsule_new = extern("PyCapsule_New", 3)
py_capsule_pointer = extern("PyCapsule_GetPointer", 2)
py_capsule_context = extern("PyCapsule_GetContext", 1)
py_capsule_set_context = extern("PyCapsule_SetContext", 2, I32)
py_save_thread = extern("PyEval_SaveThread", 0)
py_restore_thread = extern("PyEval_RestoreThread", 1, VOID)
py_no_memory = extern("PyErr_NoMemory", 0)
py_bad_call = extern("PyErr_BadInternalCall", 0, VOID)
py_clear_error = extern("PyErr_Clear", 0, VOID)
