/* Parameters of a function of the module: positional inputs first, options as keywords.
 *
 * A signature is the only place where they are written. Its text becomes the docstring, which
 * Python reads for inspect.signature and gs_python_parse for names, kinds and what is optional;
 * tests/core_stub.py writes gpusched/_core.pyi from text, types and result. All parameters may be
 * given by name. Their types, one letter each, say what the C side receives:
 *
 *   L  long long *      i  int *      p  int *, the truth value      d  double *
 *   s  const char **, UTF-8 without NUL
 *   A  PyObject **, borrowed: an array      N  the same or None      S  the same: what stops a call
 *   O<type>  the same: what the type of Python says
 */
#ifndef GS_PYTHON_SUPPORT_PARAMETERS_H
#define GS_PYTHON_SUPPORT_PARAMETERS_H

#include "python/module.h"

typedef struct {
    const char *doc; /* name(parameters), two dashes, text */
    const char *types;
} gs_python_signature_t;

/* The docstring of a function: parameters "name(a, b, *, c, d=None)", the type of the result. */
#define GS_PYTHON_DOC(function, parameters, result, text)                                          \
    const char function##_doc[] = parameters "\n--\n\n" text "\n\nReturns: " result

/* The same, and what gs_python_parse reads arguments by. */
#define GS_PYTHON_SIGNATURE(function, parameters, types, result, text)                             \
    static GS_PYTHON_DOC(function, parameters, result, text);                                      \
    static const gs_python_signature_t function##_signature = {function##_doc, types}

/* Reads the arguments of a METH_FASTCALL | METH_KEYWORDS function into the addresses that follow,
 * one per parameter; what is optional and missing stays as it is. False with an exception that
 * names the parameter. */
bool gs_python_parse(const gs_python_signature_t *signature, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *keywords, ...);

#endif
