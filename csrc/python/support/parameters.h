/* Parameters of a function of the module: positional inputs first, options as keywords.
 *
 * Both may be given by name. One letter per parameter says what the C side receives:
 *
 *   O  PyObject **, borrowed      L  long long *      i  int *
 *   p  int *, the truth value     d  double *         s  const char **, UTF-8 without NUL
 */
#ifndef GS_PYTHON_SUPPORT_PARAMETERS_H
#define GS_PYTHON_SUPPORT_PARAMETERS_H

#include "python/module.h"

typedef struct {
    const char *function;
    const char *format;
    int positional;           /* the first parameters, which may be given by position */
    int optional;             /* the last parameters, which may be missing */
    const char *const *names; /* one per letter of the format */
} gs_python_signature_t;

/* Reads the arguments of a METH_FASTCALL | METH_KEYWORDS function into the addresses that follow,
 * one per parameter; what is optional and missing stays as it is. False with an exception that
 * names the parameter. */
bool gs_python_parse(const gs_python_signature_t *signature, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *keywords, ...);

#endif
