/* Result of a search of the scheduling graph. */
#include "pbs/graph/graph_result.h"

#include <string.h>

void gs_pbs_graph_result_init(gs_pbs_graph_result_t *self)
{
    memset(self, 0, sizeof *self);
    gs_schedule_init(&self->schedule);
}

static void free_graph(gs_pbs_graph_t *graph, gs_context_t *ctx)
{
    gs_free(ctx, graph->executed);
    gs_free(ctx, graph->ready);
    gs_free(ctx, graph->state);
    gs_free(ctx, graph->first);
    gs_free(ctx, graph->point);
    gs_free(ctx, graph->edge);
    memset(graph, 0, sizeof *graph);
}

void gs_pbs_graph_result_free(gs_pbs_graph_result_t *self, gs_context_t *ctx)
{
    gs_schedule_free(&self->schedule, ctx);
    gs_free(ctx, self->per_depth);
    free_graph(&self->graph, ctx);
    gs_pbs_graph_result_init(self);
}
