/* Checks of a model of the host simulator: options, shares, tasks. */
#include "simulate/host/host_parts.h"

#include "core/int128.h"

/* Numerators and denominators of shares are below it. */
#define SHARE_LIMIT (INT64_C(1) << 62)

static int check_range(gs_context_t *ctx, const char *field, int64_t i, int64_t value,
                       int64_t least, int64_t most, const char *reason)
{
    return value >= least && value <= most ? GS_OK
                                           : gs_fail(ctx, GS_ERR_VALUE, field, i, value, reason);
}

int gs_simulate_host_check_clock(gs_context_t *ctx, const char *field, int64_t i, int64_t value)
{
    if (value < 0) {
        return gs_fail(ctx, GS_ERR_VALUE, field, i, value, "a number of at least 0");
    }
    return value < GS_CHECK_LATEST
               ? GS_OK
               : gs_fail(ctx, GS_ERR_OVERFLOW, field, i, value, "a time below 2**59 - 1 ticks");
}

static int check_share(gs_context_t *ctx, const char *field, gs_simulate_host_share_t share)
{
    if (share.over < 0 || share.over >= SHARE_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, field, -1, share.over, "a numerator of 0 to 2**62 - 1");
    }
    if (share.under < 1 || share.under >= SHARE_LIMIT) {
        return gs_fail(ctx, GS_ERR_VALUE, field, -1, share.under,
                       "a denominator of 1 to 2**62 - 1");
    }
    return GS_OK;
}

static int check_shares(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    gs_simulate_host_share_t low = model->low, high = model->high;
    int status;
    if ((status = check_share(ctx, "low", low)) != GS_OK ||
        (status = check_share(ctx, "high", high)) != GS_OK ||
        (status = check_share(ctx, "releases", model->gap)) != GS_OK) {
        return status;
    }
    if (high.over == 0 || high.over > high.under) {
        return gs_fail(ctx, GS_ERR_VALUE, "high", -1, high.over, "a share above 0, at most 1");
    }
    if ((gs_int128_t)low.over * high.under > (gs_int128_t)high.over * low.under) {
        return gs_fail(ctx, GS_ERR_VALUE, "low", -1, low.over, "at most high");
    }
    return GS_OK;
}

static int check_options(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    const gs_simulate_host_way_t *way = model->way;
    int status;
    int64_t all = GS_SIMULATE_HOST_AT_RELEASE | GS_SIMULATE_HOST_AT_REQUEST |
                  GS_SIMULATE_HOST_AT_RESUME | GS_SIMULATE_HOST_AT_END;
    if (way == NULL) {
        return gs_fail(ctx, GS_ERR_VALUE, "way", -1, 0, "a known protocol");
    }
    if ((status = check_range(ctx, "cpus", -1, model->cpus, 1, INT32_MAX,
                              "a positive number below 2**31")) != GS_OK ||
        (status = check_range(ctx, "sms", -1, model->sms, 1, INT32_MAX,
                              "a positive number below 2**31")) != GS_OK ||
        (status = check_range(ctx, "policy", -1, model->policy, GS_SIMULATE_HOST_PARTITIONED,
                              GS_SIMULATE_HOST_GEDF, "a known policy")) != GS_OK ||
        (status = check_range(ctx, "mode", -1, model->mode, GS_SIMULATE_HOST_MODE_SUSPEND,
                              GS_SIMULATE_HOST_MODE_SPIN, "a known mode")) != GS_OK ||
        (status = gs_simulate_host_check_clock(ctx, "until", -1, model->until)) != GS_OK ||
        (status = check_range(ctx, "victim", -1, model->victim, -1, model->hosts.n - 1,
                              "the index of a task, or -1")) != GS_OK) {
        return status;
    }
    if (model->victim >= 0 && model->release == NULL &&
        (model->triggers < 1 || model->triggers > all)) {
        return gs_fail(ctx, GS_ERR_VALUE, "triggers", -1, model->triggers,
                       "some of release, request, resume and end for an adversary");
    }
    if (way->modes[model->policy] == 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "policy", -1, model->policy,
                       "a scheduling policy of the protocol");
    }
    if ((way->modes[model->policy] >> model->mode & 1) == 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "mode", -1, model->mode, way->expected_modes);
    }
    return way->check == NULL ? GS_OK : way->check(ctx, model);
}

static int check_task(gs_context_t *ctx, const gs_simulate_host_model_t *model, int64_t i)
{
    const gs_host_tasks_t *hosts = &model->hosts;
    int status;
    if ((status = gs_simulate_host_check_clock(ctx, "period", i, hosts->period[i])) != GS_OK ||
        (status = gs_simulate_host_check_clock(
             ctx, "offset", i, model->offset == NULL ? 0 : model->offset[i])) != GS_OK ||
        (model->policy == GS_SIMULATE_HOST_PARTITIONED &&
         (status = check_range(ctx, "core", i, model->core[i], 0, model->cpus - 1,
                               "a core, 0 to cpus - 1")) != GS_OK) ||
        (status = check_range(ctx, "segments", i, hosts->segments[i], 0, INT32_MAX / 8,
                              "a number of segments below 2**28")) != GS_OK) {
        return status;
    }
    if (model->way->own_sms && hosts->segments[i] > 0 && gs_simulate_host_sms(model, i) == 0) {
        return gs_fail(ctx, GS_ERR_VALUE, "sm", i, 0,
                       "at least one SM for a task with GPU segments");
    }
    return GS_OK;
}

int gs_simulate_host_check(gs_context_t *ctx, const gs_simulate_host_model_t *model)
{
    int status = gs_host_tasks_check(ctx, &model->hosts);
    if (status != GS_OK || (status = check_options(ctx, model)) != GS_OK ||
        (status = check_shares(ctx, model)) != GS_OK ||
        (status = check_range(ctx, "tasks", -1, model->hosts.n, 1, INT32_MAX / 16,
                              "a number of tasks below 2**27")) != GS_OK) {
        return status;
    }
    for (int64_t i = 0; i < model->hosts.n; i++) {
        if ((status = check_task(ctx, model, i)) != GS_OK) {
            return status;
        }
    }
    return gs_simulate_host_given_check(ctx, model);
}
