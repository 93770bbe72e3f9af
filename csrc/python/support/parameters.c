/* Parameters of a function of the module: matching by position and name, conversion to C. */
#include "python/support/parameters.h"

#include <limits.h>
#include <stdarg.h>

enum { MOST_PARAMETERS = 96, LONGEST = 1536 };

/* A signature, taken apart. */
typedef struct {
    char text[LONGEST]; /* its names, each ended by NUL, first that of the function */
    const char *names[MOST_PARAMETERS];
    int count;
    int positional; /* the first parameters, which may be given by position */
    int required;   /* the others, the last ones, may be missing */
} parameters_t;

static bool read_signature(const char *doc, parameters_t *found)
{
    bool begins = false; /* whether the next letter is the first of a parameter */
    int length = 0;
    found->count = found->required = 0;
    found->positional = -1;
    for (; doc[length] != ')'; length++) {
        char letter = doc[length], *at = &found->text[length];
        if (length == LONGEST - 1 || found->count == MOST_PARAMETERS) {
            PyErr_Format(PyExc_SystemError, "a signature is too long: %s", doc);
            return false;
        }
        *at = letter;
        if (letter == '(' || letter == ',') {
            *at = '\0';
            begins = true;
        } else if (letter == '=') {
            *at = '\0';
            found->required--;
        } else if (begins && letter != ' ') {
            begins = false;
            if (letter == '*') {
                found->positional = found->count;
            } else if (letter != '$') {
                found->names[found->count++] = at;
                found->required++;
            }
        }
    }
    found->text[length] = '\0';
    found->positional = found->positional < 0 ? found->count : found->positional;
    return true;
}

/* The parameter that a keyword names; -1 with an exception. Keywords come in order as a rule, so
 * the search starts at the one after the last match. */
static int find(const parameters_t *parameters, int from, PyObject *keyword)
{
    for (int i = 0; i < parameters->count; i++) {
        int at = (from + i) % parameters->count;
        if (PyUnicode_CompareWithASCIIString(keyword, parameters->names[at]) == 0) {
            return at;
        }
    }
    PyErr_Format(PyExc_TypeError, "%s: unknown parameter %R", parameters->text, keyword);
    return -1;
}

/* Assigns arguments to parameters. given[i] stays NULL where there is none. */
static bool match(const parameters_t *parameters, PyObject *const *arguments, Py_ssize_t count,
                  PyObject *keywords, PyObject **given)
{
    if (count > parameters->positional) {
        PyErr_Format(PyExc_TypeError, "%s: got %zd positional arguments, expected at most %d",
                     parameters->text, count, parameters->positional);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        given[i] = arguments[i];
    }
    Py_ssize_t named = keywords == NULL ? 0 : PyTuple_Size(keywords);
    int at = (int)count - 1;
    for (Py_ssize_t i = 0; i < named; i++) {
        at = find(parameters, at + 1, PyTuple_GetItem(keywords, i));
        if (at < 0) {
            return false;
        }
        if (given[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "%s: got %s twice", parameters->text,
                         parameters->names[at]);
            return false;
        }
        given[at] = arguments[count + i];
    }
    for (int i = 0; i < parameters->required; i++) {
        if (given[i] == NULL) {
            PyErr_Format(PyExc_TypeError, "%s: missing argument %s", parameters->text,
                         parameters->names[i]);
            return false;
        }
    }
    return true;
}

/* A whole number from low to high; false with an exception that names it. */
static bool read_integer(PyObject *object, const char *name, long long low, long long high,
                         long long *value)
{
    *value = PyLong_AsLongLong(object);
    bool failed = *value == -1 && PyErr_Occurred() != NULL;
    if (failed && !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        if (PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear();
            PyErr_Format(PyExc_TypeError, "%s: got %R, expected a whole number", name, object);
        }
        return false;
    }
    if (failed || *value < low || *value > high) {
        PyErr_Clear();
        PyErr_Format(PyExc_OverflowError, "%s: got %R, expected a whole number from %lld to %lld",
                     name, object, low, high);
        return false;
    }
    return true;
}

static bool read_text(PyObject *object, const char *name, const char **text)
{
    Py_ssize_t length;
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: got %R, expected a str", name, object);
        return false;
    }
    *text = PyUnicode_AsUTF8AndSize(object, &length);
    if (*text != NULL && strlen(*text) != (size_t)length) {
        PyErr_Format(PyExc_ValueError, "%s: got %R, expected text without a NUL", name, object);
        return false;
    }
    return *text != NULL;
}

/* Converts one argument by its letter and stores it at the next address of the list. */
static bool store(char letter, const char *name, PyObject *object, va_list *addresses)
{
    void *address = va_arg(*addresses, void *);
    if (object == NULL) {
        return true;
    }
    long long number;
    switch (letter) {
    case 'A':
    case 'N':
    case 'O':
    case 'S':
        *(PyObject **)address = object;
        return true;
    case 'L':
        return read_integer(object, name, LLONG_MIN, LLONG_MAX, address);
    case 'i':
        if (!read_integer(object, name, INT_MIN, INT_MAX, &number)) {
            return false;
        }
        *(int *)address = (int)number;
        return true;
    case 'p':
        *(int *)address = PyObject_IsTrue(object);
        return *(int *)address >= 0;
    case 'd':
        *(double *)address = PyFloat_AsDouble(object);
        return *(double *)address != -1.0 || PyErr_Occurred() == NULL;
    case 's':
        return read_text(object, name, address);
    default:
        PyErr_Format(PyExc_SystemError, "%s: unknown letter of a signature", name);
        return false;
    }
}

bool gs_python_parse(const gs_python_signature_t *signature, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *keywords, ...)
{
    PyObject *given[MOST_PARAMETERS] = {NULL};
    parameters_t parameters;
    if (!read_signature(signature->doc, &parameters) ||
        !match(&parameters, arguments, count, keywords, given)) {
        return false;
    }
    const char *type = signature->types;
    va_list addresses;
    va_start(addresses, keywords);
    bool good = true;
    for (int i = 0; i < parameters.count && good; i++) {
        good = store(*type, parameters.names[i], given[i], &addresses);
        type += good && type[1] == '<' ? strcspn(type, ">") + 1 : 1;
    }
    va_end(addresses);
    return good;
}
