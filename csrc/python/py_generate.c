/* placeholder of the part under construction */
#include "python/module.h"

PyMethodDef gs_py_generate_methods[] = {
    {NULL, NULL, 0, NULL},
};
