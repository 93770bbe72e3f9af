/* The library's methods, ways, enumerations and limits as Python objects. */
#include "python/registry_objects.h"

#include "enumerations.h"
#include "registry.h"
#include "ways/ways.h"

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

/* Texts that end with NULL; no texts for NULL. */
static PyObject *listed(const char *const *items)
{
    Py_ssize_t count = 0;
    while (items != NULL && items[count] != NULL) {
        count++;
    }
    return texts(items, count);
}

/* The choices of an option as a tuple, or None. */
static PyObject *choices_of(const gs_method_option_t *option)
{
    if (option->choices == NULL) {
        return Py_NewRef(Py_None);
    }
    return listed(option->choices);
}

static PyObject *options_of(const gs_method_option_t *table, int32_t count)
{
    PyObject *options = PyTuple_New(count);
    for (int32_t i = 0; options != NULL && i < count; i++) {
        const gs_method_option_t *option = &table[i];
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

/* Appends what a function has made, and gives up the reference; false with an exception. */
static bool append(PyObject *list, PyObject *item)
{
    bool appended = item != NULL && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return appended;
}

static bool append_method(PyObject *list, const gs_method_t *method)
{
    PyObject *options = options_of(method->options, method->option_count);
    return options != NULL &&
           append(list, Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:N}", "name", method->name,
                                      "model", method->model, "function", method->function, "claim",
                                      method->claim, "source", method->source, "summary",
                                      method->summary, "options", options));
}

/* Whether an earlier way has the same test. */
static bool is_listed(const gs_ways_way_t *const *way)
{
    const gs_ways_way_t *const *before = gs_ways_table;
    while (before < way && (*before)->test != (*way)->test) {
        before++;
    }
    return before < way;
}

/* A list as a tuple, if all was added; gives up the reference to the list. */
static PyObject *as_tuple(PyObject *list, bool added)
{
    PyObject *tuple = added ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

/* The tests of the ways, then the other methods. */
static PyObject *new_methods(void)
{
    PyObject *methods = PyList_New(0);
    bool added = methods != NULL;
    for (const gs_ways_way_t *const *way = gs_ways_table; added && *way != NULL; way++) {
        if ((*way)->test != NULL && !is_listed(way)) {
            added = append_method(methods, (*way)->test);
        }
    }
    for (const gs_method_t *const *method = gs_methods; added && *method != NULL; method++) {
        added = append_method(methods, *method);
    }
    return as_tuple(methods, added);
}

/* The kind of a way's test of tasks with cores; NULL where it has none. */
static const char *family_of(const gs_ways_way_t *way)
{
    const gs_analysis_placed_method_t *placed = way->placed;
    return placed == NULL            ? NULL
           : placed->lock != NULL    ? "lock"
           : placed->context != NULL ? "contexts"
                                     : "divided";
}

static bool append_way(PyObject *list, const gs_ways_way_t *way)
{
    PyObject *options = options_of(way->options, way->option_count);
    PyObject *without = options == NULL ? NULL : listed(way->without);
    PyObject *premises = without == NULL ? NULL : listed(way->premises);
    if (premises == NULL) {
        Py_XDECREF(options);
        Py_XDECREF(without);
        return false;
    }
    PyObject *monotone = way->placed != NULL && way->placed->monotone ? Py_True : Py_False;
    return append(list, Py_BuildValue("{s:s,s:s,s:s,s:z,s:z,s:O,s:O,s:O,s:O,s:N,s:N,s:N}", "name",
                                      way->name, "title", way->title, "source", way->source, "test",
                                      way->test == NULL ? NULL : way->test->name, "family",
                                      family_of(way), "monotone", monotone, "one_row",
                                      way->one_row ? Py_True : Py_False, "in_turns",
                                      way->in_turns ? Py_True : Py_False, "global_edf",
                                      way->global_edf ? Py_True : Py_False, "options", options,
                                      "without", without, "premises", premises));
}

static PyObject *new_ways(void)
{
    PyObject *ways = PyList_New(0);
    bool added = ways != NULL;
    for (const gs_ways_way_t *const *way = gs_ways_table; added && *way != NULL; way++) {
        added = append_way(ways, *way);
    }
    return as_tuple(ways, added);
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
    PyObject *values[] = {new_methods(), new_ways(), new_enumerations(), new_limits()};
    static const char *const names[] = {"METHODS", "WAYS", "ENUMERATIONS", "LIMITS"};
    bool added = true;
    for (int i = 0; i < 4; i++) {
        added =
            added && values[i] != NULL && PyModule_AddObjectRef(module, names[i], values[i]) == 0;
        Py_XDECREF(values[i]);
    }
    return added;
}
