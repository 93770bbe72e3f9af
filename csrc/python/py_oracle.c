/* placeholder of the part under construction */
#include "python/module.h"

PyMethodDef gs_py_oracle_methods[] = {
    {NULL, NULL, 0, NULL},
};
