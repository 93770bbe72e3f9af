/* The module gpusched._core: its state, types, functions and constants. */
#define GS_PYTHON_IMPORTS_NUMPY
#include "python/module.h"

#include "cuda/image.h"
#include "python/registry_objects.h"
#include "python/support/handle.h"

/* The message alone: Python would print a tuple of all three args. */
static PyObject *cuda_error_text(PyObject *self)
{
    PyObject *args = PyObject_GetAttrString(self, "args");
    if (args == NULL) {
        return NULL;
    }
    PyObject *text = PyTuple_Check(args) && PyTuple_Size(args) > 0
                         ? PyObject_Str(PyTuple_GetItem(args, 0))
                         : PyUnicode_FromString("");
    Py_DECREF(args);
    return text;
}

static PyType_Slot cuda_error_slots[] = {
    {Py_tp_doc, "An error of the CUDA backend: args are the message, the driver's function (or '') "
                "and its code (or 0)."},
    {Py_tp_str, (void *)cuda_error_text},
    {0, NULL},
};

static PyType_Spec cuda_error_spec = {
    .name = "gpusched.CudaError",
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = cuda_error_slots,
};

static PyObject *new_type(PyObject *module, const gs_python_type_t *type)
{
    PyType_Slot slots[] = {
        {Py_tp_doc, (void *)(uintptr_t)type->doc},
        {Py_tp_dealloc, (void *)type->dealloc},
        {Py_tp_methods, type->methods},
        {0, NULL},
    };
    PyType_Spec spec = {
        .name = type->name,
        .basicsize = sizeof(gs_python_handle_t),
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
        .slots = slots,
    };
    return PyType_FromModuleAndSpec(module, &spec, NULL);
}

/* The heap types, added to the module under the last part of their names. */
static bool add_types(PyObject *module)
{
    gs_python_state_t *state = PyModule_GetState(module);
    const gs_python_type_t *const types[GS_PYTHON_KINDS] = {
        [GS_PYTHON_POLICY] = &gs_python_policy_type,
        [GS_PYTHON_FIFO] = &gs_python_fifo_type,
        [GS_PYTHON_HOST] = &gs_python_host_sim_type,
        [GS_PYTHON_HIERARCHY] = &gs_python_hierarchy_type,
        [GS_PYTHON_MACHINE] = &gs_python_machine_type,
        [GS_PYTHON_DRIVER] = &gs_python_driver_type,
        [GS_PYTHON_DEVICE] = &gs_python_device_type,
        [GS_PYTHON_RUNTIME_LOG] = &gs_python_runtime_log_type,
        [GS_PYTHON_RUNTIME_ENDS] = &gs_python_runtime_ends_type,
        [GS_PYTHON_RUNTIME_JOBS] = &gs_python_runtime_jobs_type,
        [GS_PYTHON_RUNTIME_LOCK] = &gs_python_runtime_lock_type,
        [GS_PYTHON_RUNTIME_SECTION] = &gs_python_runtime_section_type,
        [GS_PYTHON_RUNTIME_PLAYER] = &gs_python_runtime_player_type,
        [GS_PYTHON_RUNTIME_SERVER] = &gs_python_runtime_server_type,
    };
    for (int i = 0; i < GS_PYTHON_KINDS; i++) {
        state->types[i] = new_type(module, types[i]);
        if (state->types[i] == NULL ||
            PyModule_AddType(module, (PyTypeObject *)state->types[i]) < 0) {
            return false;
        }
    }
    return true;
}

static int module_exec(PyObject *module)
{
    gs_python_state_t *state = PyModule_GetState(module);
    if (PyArray_ImportNumPyAPI() < 0) {
        return -1;
    }
    state->cancelled = PyErr_NewExceptionWithDoc(
        "gpusched.Cancelled", "A call into the core was stopped by its stop flag.", NULL, NULL);
    if (PyModule_AddObjectRef(module, "Cancelled", state->cancelled) < 0) {
        return -1;
    }
    state->spent = PyErr_NewExceptionWithDoc(
        "gpusched._core.BudgetSpent",
        "A call was stopped since a budget was spent that it cannot report in its result.",
        state->cancelled, NULL);
    if (PyModule_AddObjectRef(module, "BudgetSpent", state->spent) < 0) {
        return -1;
    }
    PyObject *bases = PyTuple_Pack(1, PyExc_RuntimeError);
    state->cuda_error =
        bases == NULL ? NULL : PyType_FromModuleAndSpec(module, &cuda_error_spec, bases);
    Py_XDECREF(bases);
    if (PyModule_AddObjectRef(module, "CudaError", state->cuda_error) < 0) {
        return -1;
    }
    if (!add_types(module)) {
        return -1;
    }
    PyMethodDef *parts[] = {
        gs_python_bandwidth_methods,      gs_python_gpu_methods,
        gs_python_generate_methods,       gs_python_oracle_methods,
        gs_python_schedule_methods,       gs_python_search_methods,
        gs_python_function_methods,       gs_python_graph_methods,
        gs_python_policy_methods,         gs_python_proof_methods,
        gs_python_partition_methods,      gs_python_fifo_methods,
        gs_python_fifo_bound_methods,     gs_python_priority_streams_methods,
        gs_python_holistic_methods,       gs_python_hierarchy_methods,
        gs_python_machine_methods,        gs_python_warps_methods,
        gs_python_event_scan_methods,     gs_python_sm_usage_methods,
        gs_python_rules_methods,          gs_python_row_text_methods,
        gs_python_host_tests_methods,     gs_python_demand_methods,
        gs_python_sensitivity_methods,    gs_python_host_sim_methods,
        gs_python_host_challenge_methods, gs_python_generate_gcaps_methods,
        gs_python_generate_hosts_methods, gs_python_gedf_methods,
        gs_python_elliott_methods,        gs_python_generate_elliott_methods,
        gs_python_arrow_methods,          gs_python_cuda_methods,
        gs_python_host_set_methods,       gs_python_job_log_methods,
        gs_python_job_loop_methods,       gs_python_gpu_lock_methods,
        gs_python_plan_player_methods,    gs_python_segment_server_methods,
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (PyModule_AddFunctions(module, parts[i]) < 0) {
            return -1;
        }
    }
    if (!gs_python_add_registry(module)) {
        return -1;
    }
    if (PyModule_AddIntConstant(module, "CUDA_TOOLKIT", gs_cuda_image_toolkit()) < 0 ||
        PyModule_AddStringConstant(module, "CUDA_MISSING", gs_cuda_image_missing()) < 0) {
        return -1;
    }
    return PyModule_AddStringConstant(module, "__version__", GPUSCHED_VERSION);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    gs_python_state_t *state = PyModule_GetState(module);
    Py_VISIT(state->cancelled);
    Py_VISIT(state->spent);
    Py_VISIT(state->cuda_error);
    for (int i = 0; i < GS_PYTHON_KINDS; i++) {
        Py_VISIT(state->types[i]);
    }
    return 0;
}

static int module_clear(PyObject *module)
{
    gs_python_state_t *state = PyModule_GetState(module);
    Py_CLEAR(state->cancelled);
    Py_CLEAR(state->spent);
    Py_CLEAR(state->cuda_error);
    for (int i = 0; i < GS_PYTHON_KINDS; i++) {
        Py_CLEAR(state->types[i]);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
#ifdef Py_GIL_DISABLED
    /* Functions share nothing that is written to, policies are immutable, and simulations and
     * devices refuse a second thread. tests/robustness/test_threads.py runs it. */
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gpusched._core",
    .m_doc = "The C core of gpusched as functions on NumPy arrays; use the package gpusched.",
    .m_size = sizeof(gs_python_state_t),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&module_def);
}
