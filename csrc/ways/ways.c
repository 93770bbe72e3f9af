/* All ways of sharing the GPU. */
#include "ways/ways.h"

#include <string.h>

/* Each is defined in the file of its name. */
extern const gs_ways_way_t gs_ways_one_stream;
extern const gs_ways_way_t gs_ways_streams;
extern const gs_ways_way_t gs_ways_priority_streams;
extern const gs_ways_way_t gs_ways_mps;
extern const gs_ways_way_t gs_ways_mps_static;
extern const gs_ways_way_t gs_ways_green_contexts;
extern const gs_ways_way_t gs_ways_time_slices;
extern const gs_ways_way_t gs_ways_gcaps;
extern const gs_ways_way_t gs_ways_mpcp;
extern const gs_ways_way_t gs_ways_fmlp_plus;
extern const gs_ways_way_t gs_ways_gpu_server;
extern const gs_ways_way_t gs_ways_stgm;
extern const gs_ways_way_t gs_ways_mig;
extern const gs_ways_way_t gs_ways_srm;
extern const gs_ways_way_t gs_ways_container;
extern const gs_ways_way_t gs_ways_driver;
extern const gs_ways_way_t gs_ways_edf_serial;
extern const gs_ways_way_t gs_ways_edf_parallel;
extern const gs_ways_way_t gs_ways_pbs;

const gs_ways_way_t *const gs_ways_table[] = {
    &gs_ways_one_stream,
    &gs_ways_streams,
    &gs_ways_priority_streams,
    &gs_ways_mps,
    &gs_ways_mps_static,
    &gs_ways_green_contexts,
    &gs_ways_time_slices,
    &gs_ways_gcaps,
    &gs_ways_mpcp,
    &gs_ways_fmlp_plus,
    &gs_ways_gpu_server,
    &gs_ways_stgm,
    &gs_ways_mig,
    &gs_ways_srm,
    &gs_ways_container,
    &gs_ways_driver,
    &gs_ways_edf_serial,
    &gs_ways_edf_parallel,
    &gs_ways_pbs,
    NULL,
};

const gs_ways_way_t *gs_ways_find(const char *name)
{
    const gs_ways_way_t *const *way = gs_ways_table;
    while (*way != NULL && strcmp((*way)->name, name) != 0) {
        way++;
    }
    return *way;
}

const gs_simulate_host_way_t *gs_ways_find_host(const char *name)
{
    for (const gs_ways_way_t *const *way = gs_ways_table; *way != NULL; way++) {
        const gs_simulate_host_way_t *const *host = (*way)->host;
        for (; host != NULL && *host != NULL; host++) {
            if (strcmp((*way)->name, name) == 0 || strcmp((*host)->name, name) == 0) {
                return *host;
            }
        }
    }
    return NULL;
}
