/* Global EDF: utilizations at their bound, known fractions, numbers near the overflow limits,
 * failures. */
#include "core/rational.h"
#include "core/int128.h"
#include "analysis/global_edf/container.h"
#include "analysis/global_edf/tardiness.h"
#include "analysis/global_edf/srm.h"

#include "minunit.h"

enum { MOST = 16, ALL = (1 << GS_ANALYSIS_GLOBAL_EDF_METHODS) - 1 };

static int sign_of(const int64_t *work, const int64_t *period, int64_t n, int64_t m)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t rest[MOST];
    int sign = 7;
    MU_CHECK(gs_rational_compare(&ctx, work, period, n, m, rest, &sign) == GS_OK);
    return sign;
}

static int64_t ceil_of(const int64_t *work, const int64_t *period, int64_t n)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t rest[MOST], ceiling = -7;
    MU_CHECK(gs_rational_ceil(&ctx, work, period, n, rest, &ceiling) == GS_OK);
    return ceiling;
}

static int64_t share_of(const int64_t *work, const int64_t *period, int64_t n, int64_t time)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t scratch[2 * MOST], share = -7;
    MU_CHECK(gs_rational_share(&ctx, work, period, n, time, scratch, &share) == GS_OK);
    return share;
}

/* Edge cases: zero utilization, sums that are whole or differ from it by very little, values above
 * their limits. */
static void test_shares(void)
{
    const int64_t thirds[] = {1, 1, 11}, of[] = {3, 7, 21};
    MU_CHECK(share_of(thirds, of, 0, 5) == 0);
    MU_CHECK(share_of(thirds, of, 1, 1) == 1 && share_of(thirds, of, 1, 3) == 1);
    MU_CHECK(share_of(thirds, of, 1, 4) == 2 && share_of(thirds, of, 2, 21) == 10);
    MU_CHECK(share_of(thirds, of, 2, 20) == 10 && share_of(thirds, of, 3, 17) == 17);
    const int64_t most = GS_NEVER - 1;
    const int64_t much[] = {most, most, 0}, units[] = {1, most, 2};
    MU_CHECK(share_of(much, units, 3, most) == most);
    MU_CHECK(share_of(much + 1, units + 1, 2, most) == most);
    const int64_t less[] = {most - 1, 1}, all[] = {most, most};
    MU_CHECK(share_of(less, all, 1, most) == most - 1 && share_of(less, all, 2, most) == most);
    const int64_t little[] = {1, 1}, long_ones[] = {most, most - 1};
    MU_CHECK(share_of(little, long_ones, 2, 1) == 1 && share_of(little, long_ones, 1, most) == 1);
    MU_CHECK(share_of(little, long_ones, 2, most) == 3);
}

static void test_loads(void)
{
    const int64_t thirds[] = {1, 1, 11}, of[] = {3, 7, 21};
    MU_CHECK(sign_of(thirds, of, 3, 1) == 0 && ceil_of(thirds, of, 3) == 1);
    MU_CHECK(sign_of(thirds, of, 3, 0) == 1 && sign_of(thirds, of, 3, 2) == -1);
    MU_CHECK(sign_of(thirds, of, 2, 1) == -1 && ceil_of(thirds, of, 2) == 1);
    /* They differ from 1 by one over the product of the periods, about 10^-36. */
    const int64_t p = INT64_C(1000000000000000003), q = INT64_C(1000000000000000009);
    const int64_t long_periods[] = {p, q};
    /* a q + b p = p q + 1: a is the inverse of q = 6 (mod p), b that of p (mod q). */
    int64_t a = 0, b = 0;
    for (int64_t k = 1; k < 7; k++) {
        a = (k * p + 1) % 6 == 0 ? (k * p + 1) / 6 : a;
    }
    b = (int64_t)(((gs_int128_t)p * q + 1 - (gs_int128_t)a * q) / p);
    MU_CHECK((gs_int128_t)a * q + (gs_int128_t)b * p == (gs_int128_t)p * q + 1);
    const int64_t above[] = {a, b}, below[] = {a - 1, b};
    MU_CHECK(sign_of(above, long_periods, 2, 1) == 1 && ceil_of(above, long_periods, 2) == 2);
    MU_CHECK(sign_of(below, long_periods, 2, 1) == -1 && ceil_of(below, long_periods, 2) == 1);
    const int64_t whole[] = {3, 8}, units[] = {1, 4};
    MU_CHECK(sign_of(whole, units, 2, 5) == 0 && ceil_of(whole, units, 2) == 5);
    const int64_t nothing[] = {0};
    MU_CHECK(sign_of(nothing, units, 1, 0) == 0 && ceil_of(nothing, units, 1) == 0);
}

static bool is(const gs_analysis_global_edf_bound_t *bound, int64_t numerator, int64_t denominator)
{
    return bound->numerator == numerator && bound->denominator == denominator;
}

static const int64_t period_1[] = {30, 30, 30, 30, 30, 30, 30};
static const int64_t demand_1[] = {5, 5, 21, 21, 21, 21, 21};
static const int64_t period_2[] = {10, 20, 25, 40, 50, 60};
static const int64_t demand_2[] = {6, 9, 5, 10, 10, 12};

static void test_vectors(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_global_edf_bound_t bound[MOST];
    gs_analysis_global_edf_t one = {7, period_1, period_1, demand_1};
    int verdict;
    int64_t failed;
    MU_CHECK(gs_analysis_global_edf_check(&ctx, &one, 4) == GS_OK);
    MU_CHECK(gs_analysis_global_edf_bounded(&ctx, &one, 4, &verdict, &failed) == GS_OK);
    MU_CHECK(verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED && failed == -1);
    MU_CHECK(gs_analysis_global_edf_response(
                 &ctx, &one, 4, 1 << GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON, bound) == GS_OK);
    MU_CHECK(is(&bound[0], 745, 13) && is(&bound[6], 953, 13));
    MU_CHECK(gs_analysis_global_edf_response(&ctx, &one, 4, 1 << GS_ANALYSIS_GLOBAL_EDF_COMPLIANT,
                                             bound) == GS_OK);
    MU_CHECK(is(&bound[0], 1111, 19) && is(&bound[6], 1339, 19));
    MU_CHECK(gs_analysis_global_edf_response(&ctx, &one, 4, ALL, bound) == GS_OK);
    MU_CHECK(bound[0].method == GS_ANALYSIS_GLOBAL_EDF_DEVI_ANDERSON &&
             bound[6].method == GS_ANALYSIS_GLOBAL_EDF_COMPLIANT);
    MU_CHECK(gs_analysis_global_edf_bounded(&ctx, &one, 3, &verdict, &failed) == GS_OK);
    MU_CHECK(verdict == GS_ANALYSIS_GLOBAL_EDF_LOAD);
    gs_analysis_global_edf_t two = {6, period_2, period_2, demand_2};
    const int64_t inside[] = {0, 0, 0, 1, 1, 1};
    MU_CHECK(gs_analysis_global_edf_container(&ctx, &two, inside, 2, 10, false, false,
                                              1 << GS_ANALYSIS_GLOBAL_EDF_COMPLIANT, &verdict,
                                              &failed, bound) == GS_OK);
    MU_CHECK(verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED && is(&bound[0], 1045, 62) &&
             is(&bound[1], 879, 31));
    MU_CHECK(is(&bound[2], 972, 31) && is(&bound[3], 123053, 1612));
    MU_CHECK(bound[5].method == GS_ANALYSIS_GLOBAL_EDF_FIFO);
    MU_CHECK(gs_analysis_global_edf_container(&ctx, &two, inside, 2, 0, false, false, ALL, &verdict,
                                              &failed, bound) == GS_ERR_VALUE);
}

/* Times near the overflow limits: a bound that is larger than necessary, or none; never one that
 * wraps. */
static void test_long_times(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    for (int bits = 20; bits < 59; bits++) {
        int64_t unit = INT64_C(1) << bits;
        int64_t period[] = {unit, unit - 1, unit - 2, unit - 3}, demand[4];
        for (int i = 0; i < 4; i++) {
            demand[i] = period[i] / 2;
        }
        gs_analysis_global_edf_t tasks = {4, period, period, demand};
        gs_analysis_global_edf_bound_t bound[4];
        int verdict;
        int64_t failed;
        int status = gs_analysis_global_edf_check(&ctx, &tasks, 3);
        MU_CHECK(status == (demand[0] * 2 < GS_NEVER / 4 ? GS_OK : status));
        if (status != GS_OK) {
            continue;
        }
        MU_CHECK(gs_analysis_global_edf_bounded(&ctx, &tasks, 3, &verdict, &failed) == GS_OK);
        MU_CHECK(verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED);
        MU_CHECK(gs_analysis_global_edf_response(&ctx, &tasks, 3, ALL, bound) == GS_OK);
        for (int i = 0; i < 4; i++) {
            bool none = bound[i].method == GS_ANALYSIS_GLOBAL_EDF_NONE;
            MU_CHECK(none || bound[i].numerator / bound[i].denominator >= demand[i]);
            MU_CHECK(none || bound[i].numerator / bound[i].denominator <= 3 * unit);
            MU_CHECK(!none || bits > 40);
        }
        const int64_t inside[] = {0, 0, 0, 1};
        status = gs_analysis_global_edf_container(&ctx, &tasks, inside, 3, unit / 2, false, false,
                                                  ALL, &verdict, &failed, bound);
        MU_CHECK(status == GS_OK && verdict == GS_ANALYSIS_GLOBAL_EDF_BOUNDED);
    }
}

static void test_refusals(void)
{
    gs_context_t ctx;
    gs_context_init(&ctx);
    gs_analysis_global_edf_t tasks = {6, period_2, period_2, demand_2};
    MU_CHECK(gs_analysis_global_edf_check(&ctx, &tasks, 0) == GS_ERR_VALUE);
    const int64_t negative[] = {6, 9, 5, 10, -1, 12};
    tasks.demand = negative;
    MU_CHECK(gs_analysis_global_edf_check(&ctx, &tasks, 2) == GS_ERR_VALUE && ctx.fault.row == 4);
    const int64_t late[] = {6, 9, 26, 10, 1, 12};
    tasks.demand = late;
    int verdict;
    int64_t failed;
    MU_CHECK(gs_analysis_global_edf_bounded(&ctx, &tasks, 2, &verdict, &failed) == GS_OK);
    MU_CHECK(verdict == GS_ANALYSIS_GLOBAL_EDF_LONG && failed == 2);
}

/* Failure of every allocation in turn; no memory is leaked. */
static void test_failures(void)
{
    gs_analysis_global_edf_t tasks = {6, period_2, period_2, demand_2};
    const int64_t inside[] = {0, 0, 0, 1, 1, 1}, zero[12] = {0}, segments[] = {0, 0, 0, 1, 1, 1};
    const int64_t priority[] = {0, 1, 2, 3, 4, 5}, kernel[] = {0, 0, 0, 4, 5, 6};
    const int64_t cpu[] = {6, 0, 9, 0, 5, 0, 5, 0, 4, 0, 5, 0};
    gs_host_tasks_t hosts = {.n = 6,
                             .width = 1,
                             .columns = 1,
                             .period = period_2,
                             .deadline = period_2,
                             .priority = priority,
                             .segments = segments,
                             .cpu = cpu,
                             .copy_in = zero,
                             .kernel = kernel,
                             .copy_out = zero};
    for (int64_t at = 0; at < 12; at++) {
        gs_context_t ctx;
        gs_context_init(&ctx);
        ctx.fail_at = at;
        gs_analysis_global_edf_bound_t bound[MOST];
        int64_t blocking[MOST], failed;
        int verdict;
        int status = gs_analysis_global_edf_container(&ctx, &tasks, inside, 2, 10, false, false,
                                                      ALL, &verdict, &failed, bound);
        if (status == GS_OK) {
            status = gs_analysis_global_edf_srm_blocking(
                &ctx, &hosts, 2, 1, GS_ANALYSIS_GLOBAL_EDF_SRM_OMLP,
                GS_ANALYSIS_GLOBAL_EDF_SRM_SOUND, blocking);
        }
        if (at > 0 && at <= 6) {
            MU_CHECK(status == GS_ERR_MEMORY);
        } else if (at == 0) {
            MU_CHECK(status == GS_OK && ctx.allocations == 6);
            MU_CHECK(blocking[3] == 11 && blocking[5] == 9 && blocking[0] == 0);
        }
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_loads();
    test_shares();
    test_vectors();
    test_long_times();
    test_refusals();
    test_failures();
    return MU_END();
}
