/* The library's methods, enumerations and limits as Python objects. */
#include "python/registry_objects.h"

#include "enumerations.h"
#include "registry.h"

/* A tuple of str; steals nothing. */
static PyObject *texts(const char *const *items, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple != NULL && i < count; i++) {
        PyObject *text = PyUnicode_FromString(items[i]);
        if (text == NULL || PyTuple_SetItem(tuple, i, text) < 0) {
            Py_CLEAR(tuple);
        }
    }
    return tuple;
}

/* The choices of an option as a tuple, or None. */
static PyObject *choices_of(const gs_method_option_t *option)
{
    if (option->choices == NULL) {
        return Py_NewRef(Py_None);
    }
    Py_ssize_t count = 0;
    while (option->choices[count] != NULL) {
        count++;
    }
    return texts(option->choices, count);
}

static PyObject *options_of(const gs_method_t *method)
{
    PyObject *options = PyTuple_New(method->option_count);
    for (int32_t i = 0; options != NULL && i < method->option_count; i++) {
        const gs_method_option_t *option = &method->options[i];
        PyObject *choices = choices_of(option);
        PyObject *item = choices == NULL
                             ? NULL
                             : Py_BuildValue("{s:s,s:s,s:N,s:z,s:s}", "name", option->name, "type",
                                             option->type, "choices", choices, "default",
                                             option->standard, "meaning", option->meaning);
        if (item == NULL || PyTuple_SetItem(options, i, item) < 0) {
            Py_CLEAR(options);
        }
    }
    return options;
}

static PyObject *new_methods(void)
{
    Py_ssize_t count = 0;
    while (gs_methods[count] != NULL) {
        count++;
    }
    PyObject *methods = PyTuple_New(count);
    for (Py_ssize_t i = 0; methods != NULL && i < count; i++) {
        const gs_method_t *method = gs_methods[i];
        PyObject *options = options_of(method);
        PyObject *item = options == NULL
                             ? NULL
                             : Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:N}", "name", method->name,
                                             "model", method->model, "function", method->function,
                                             "claim", method->claim, "source", method->source,
                                             "summary", method->summary, "options", options);
        if (item == NULL || PyTuple_SetItem(methods, i, item) < 0) {
            Py_CLEAR(methods);
        }
    }
    return methods;
}

/* Stores a value under a name and gives up the reference; false with an exception. */
static bool store(PyObject *dict, const char *name, PyObject *value)
{
    bool stored = value != NULL && PyDict_SetItemString(dict, name, value) == 0;
    Py_XDECREF(value);
    return stored;
}

static PyObject *new_enumerations(void)
{
    int32_t count;
    const gs_enumeration_t *all = gs_enumerations(&count);
    PyObject *dict = PyDict_New();
    for (int32_t i = 0; dict != NULL && i < count; i++) {
        if (!store(dict, all[i].name, texts(all[i].items, all[i].count))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

static PyObject *new_limits(void)
{
    PyObject *dict = PyDict_New();
    for (const gs_limit_t *limit = gs_limits; dict != NULL && limit->name != NULL; limit++) {
        if (!store(dict, limit->name, PyLong_FromLongLong(limit->value))) {
            Py_CLEAR(dict);
        }
    }
    return dict;
}

bool gs_python_add_registry(PyObject *module)
{
    PyObject *values[] = {new_methods(), new_enumerations(), new_limits()};
    static const char *const names[] = {"METHODS", "ENUMERATIONS", "LIMITS"};
    bool added = true;
    for (int i = 0; i < 3; i++) {
        added =
            added && values[i] != NULL && PyModule_AddObjectRef(module, names[i], values[i]) == 0;
        Py_XDECREF(values[i]);
    }
    return added;
}
