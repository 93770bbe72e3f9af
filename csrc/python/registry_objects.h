/* The library's methods, enumerations and limits as Python objects. */
#ifndef GS_PYTHON_REGISTRY_OBJECTS_H
#define GS_PYTHON_REGISTRY_OBJECTS_H

#include "python/module.h"

/* Adds METHODS (tuple of dict), ENUMERATIONS (dict of tuples of str, by value or bit) and LIMITS
 * (dict of int) to the module; false with an exception. */
bool gs_python_add_registry(PyObject *module);

#endif
