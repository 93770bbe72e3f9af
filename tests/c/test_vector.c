/* Tests of core/vector.h: amortised growth, overflow, injected failure, budget. */
#include "core/vector.h"

#include "minunit.h"

typedef struct {
    int64_t *items;
    int64_t count, capacity;
} list_t;

static int append(list_t *self, gs_context_t *ctx, int64_t item)
{
    if (self->count == self->capacity) {
        int64_t *items =
            gs_vector_reserve(ctx, self->items, &self->capacity, self->count + 1, sizeof *items);
        if (items == NULL) {
            return ctx->status;
        }
        self->items = items;
    }
    self->items[self->count++] = item;
    return GS_OK;
}

static bool is_sequence(const list_t *self)
{
    for (int64_t i = 0; i < self->count; i++) {
        if (self->items[i] != i) {
            return false;
        }
    }
    return true;
}

static void test_growth(void)
{
    gs_context_t ctx;
    list_t list = {0};
    gs_context_init(&ctx);
    for (int64_t i = 0; i < 100000; i++) {
        MU_CHECK(append(&list, &ctx, i) == GS_OK);
        MU_CHECK(list.capacity >= list.count && (list.capacity & (list.capacity - 1)) == 0);
    }
    MU_CHECK(is_sequence(&list) && list.capacity == 131072);
    MU_CHECK(ctx.allocations == 14); /* 16 = 2^4 .. 2^17 */
    gs_free(&ctx, list.items);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_reserve(void)
{
    gs_context_t ctx;
    int64_t capacity = 0;
    gs_context_init(&ctx);
    char *array = gs_vector_reserve(&ctx, NULL, &capacity, 0, 1);
    MU_CHECK(array != NULL && capacity == GS_VECTOR_FIRST); /* NULL always means failure */
    MU_CHECK(gs_vector_reserve(&ctx, array, &capacity, capacity, 1) == array);
    MU_CHECK(ctx.allocations == 1);
    array = gs_vector_reserve(&ctx, array, &capacity, 1000, 1); /* more than twice as much */
    MU_CHECK(array != NULL && capacity == 1000);
    array = gs_vector_reserve(&ctx, array, &capacity, 1001, 1);
    MU_CHECK(array != NULL && capacity == 2000);
    gs_free(&ctx, array);
    MU_CHECK(ctx.bytes_used == 0);
}

static void test_overflow(void)
{
    static const struct {
        int64_t capacity, needed;
        size_t size;
    } wrong[] = {
        {4, INT64_MAX, 8},
        {4, INT64_MAX / 8 + 2, 16},
        {4, 5, SIZE_MAX / 8},
        {4, INT64_MAX, SIZE_MAX},
        {INT64_MAX / 2 + 1, INT64_MAX / 2 + 2, 4}, /* twice the capacity does not fit */
        {INT64_MAX - 1, INT64_MAX, 1},
    };
    gs_context_t ctx;
    gs_context_init(&ctx);
    int64_t *kept = gs_alloc(&ctx, 4, sizeof *kept), used = ctx.bytes_used;
    MU_CHECK(kept != NULL);
    kept[3] = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int64_t capacity = wrong[i].capacity;
        ctx.status = GS_OK;
        MU_CHECK(gs_vector_reserve(&ctx, kept, &capacity, wrong[i].needed, wrong[i].size) == NULL);
        MU_CHECK(ctx.status == GS_ERR_MEMORY && capacity == wrong[i].capacity);
        MU_CHECK(kept[3] == 7 && ctx.bytes_used == used);
    }
    gs_free(&ctx, kept);
}

static void test_failure(void)
{
    for (int64_t fail_at = 1; fail_at <= 5; fail_at++) {
        gs_context_t ctx;
        list_t list = {0};
        int status = GS_OK;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        while (status == GS_OK) {
            status = append(&list, &ctx, list.count);
        }
        MU_CHECK(status == GS_ERR_MEMORY && ctx.allocations == fail_at);
        MU_CHECK(list.count == list.capacity && is_sequence(&list));
        MU_CHECK(list.count == (fail_at == 1 ? 0 : INT64_C(8) << (fail_at - 1)));
        MU_CHECK(append(&list, &ctx, list.count) == GS_OK && is_sequence(&list)); /* tried again */
        gs_free(&ctx, list.items);
        MU_CHECK(ctx.bytes_used == 0);
    }
}

static void test_budget(void)
{
    gs_context_t ctx;
    list_t list = {0};
    int status = GS_OK;
    gs_context_init(&ctx);
    ctx.bytes_limit = 3000;
    while (status == GS_OK) {
        status = append(&list, &ctx, list.count);
    }
    MU_CHECK(status == GS_SPENT_BYTES && list.count == 256 && is_sequence(&list));
    MU_CHECK(ctx.bytes_peak <= ctx.bytes_limit);
    gs_free(&ctx, list.items);
    MU_CHECK(ctx.bytes_used == 0);
}

/* Columns grow alike, up to the most that is needed. */
static void test_columns(void)
{
    for (int64_t fail_at = 0; fail_at <= 12; fail_at++) { /* 16, 32, 64, 100 rows of 3 columns */
        gs_context_t ctx;
        int64_t *columns[3] = {NULL}, capacity = 0, rows = 0;
        int status = GS_OK;
        gs_context_init(&ctx);
        ctx.fail_at = fail_at;
        for (; rows < 100 && status == GS_OK; rows += status == GS_OK) {
            status = gs_vector_reserve_columns(&ctx, columns, 3, &capacity, rows + 1, 100);
            for (int i = 0; i < 3 && status == GS_OK; i++) {
                columns[i][rows] = 1000 * i + rows;
            }
        }
        MU_CHECK(status == (fail_at == 0 ? GS_OK : GS_ERR_MEMORY));
        MU_CHECK(fail_at == 0 ? capacity == 100 && ctx.allocations == 12 : rows == capacity);
        for (int64_t k = 0; k < rows; k++) {
            MU_CHECK(columns[0][k] == k && columns[2][k] == 2000 + k);
        }
        for (int i = 0; i < 3; i++) {
            gs_free(&ctx, columns[i]);
        }
        MU_CHECK(ctx.bytes_used == 0);
    }
}

int main(void)
{
    test_growth();
    test_reserve();
    test_overflow();
    test_failure();
    test_budget();
    test_columns();
    return MU_END();
}
