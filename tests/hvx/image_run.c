/* What reads weight images against scalar C: dot products on odd and even numbers of tiles, rows as GET_ROWS takes
 * them; guard zones behind what may be written. */
#include "checks.h"
#include "htp/hvx/hvx_dot.h"
#include "htp/hvx/hvx_image_row.h"
#include "quant/quant.h"
#include "target/hexagon/hexagon_repack.h"

enum { DOT_TILES = 24, TILES = 136, K = 32 * TILES, COLUMNS = 4 };

/* Random weights of one row tile in the format of a file and as the kernels want them, and activations. */
static struct {
    uint8_t raw[32][TILES * 40], image[32 * K * 2] __attribute__((aligned(128)));
    int8_t x[COLUMNS][K] __attribute__((aligned(8)));
    htp_act_block blocks[COLUMNS][TILES];
} data;
static lanes y[COLUMNS + 2], values[TILES + 2];

static uint16_t random_half(void) {
    return npu_float_to_half((float)(int32_t)(next() % 2001 - 1000) * 1e-4f);
}

static void fill_blocks(const npu_format *f, int tiles) {
    const npu_quant *q = npu_quant_of(f->type);
    for (int r = 0; r < 32; r++)
        for (uint32_t b = 0; b < 32 * (uint32_t)tiles / f->block_values; b++) {
            uint8_t *p = data.raw[r] + b * f->block_bytes;
            uint16_t d = random_half(), m = random_half();
            for (uint32_t i = 0; i < f->block_bytes; i++) p[i] = (uint8_t)next();
            if (q->d_at >= 0) memcpy(p + q->d_at, &d, 2);
            if (q->m_at >= 0) memcpy(p + q->m_at, &m, 2);
            if (q->d_at < 0) p[0] = (uint8_t)(next() & 15 ? 110 + next() % 20 : next() % 3); /* MXFP4's exponent */
        }
}

static void fill(const npu_image_format *image, int tiles) {
    const npu_format *f = npu_format_of(image->type);
    fill_blocks(f, tiles);
    memset(data.image, 0x7e, sizeof data.image);
    npu_hex_repack(NULL, image, data.raw[0], sizeof data.raw[0], 32 * (uint32_t)tiles, 32, 0, 1, data.image);
    for (int c = 0; c < COLUMNS; c++)
        for (int t = 0; t < tiles; t++) {
            int half[2] = {0};
            for (int k = 0; k < 32; k++) {
                int q = (int)(next() & 3 ? next() % 255 : next() % 2 * 254) - 127;
                half[k / 16] += data.x[c][32 * t + k] = (int8_t)q;
            }
            float d = (float)next() * 0x1p-40f;
            data.blocks[c][t] = (htp_act_block){d, d * (float)(half[0] + half[1]), half[0] + half[1], (int16_t)half[0],
                                                (int16_t)half[1]};
        }
}

/* docs/numerics.md, section 5. */
static float reference(const npu_format *f, int r, int c, int tiles) {
    float acc = 0;
    for (int t = 0; t < tiles; t++) {
        const htp_act_block *a = &data.blocks[c][t];
        int sum[2] = {0}, sixteen = f->group_values == 16;
        npu_block b;
        npu_quant_of(f->type)->block(data.raw[r], (size_t)t, &b);
        for (int k = 0; k < 32; k++) sum[k / 16] += b.q[k] * data.x[c][32 * t + k];
        float scale = sixteen ? b.d : b.d * (float)b.sub[0], p = scale * a->d;
        acc = fmaf(p, (float)(sixteen ? b.sub[0] * sum[0] + b.sub[1] * sum[1] : sum[0] + sum[1]), acc);
        if (!(f->flags & NPU_FORMAT_MIN)) continue;
        if (sixteen)
            acc = fmaf(b.m * a->d, (float)(b.min[0] * a->low + b.min[1] * a->high), acc);
        else
            acc = fmaf(b.m * (float)b.min[0], a->s, acc);
    }
    return acc;
}

static const npu_image_format *image_of(unsigned i) {
    const npu_image_format *image = NULL;
    for (uint32_t type = 0; !image || npu_image_index(image) != i; type++)
        if (npu_image_format_of(type)) image = npu_image_format_of(type);
    return image;
}

static void check_dot(unsigned i, int tiles) {
    static const int columns[] = {1, 2, 4};
    const npu_image_format *image = image_of(i);
    const npu_format *f = npu_format_of(image->type);
    tiles *= f->block_values / 32;
    if (tiles > DOT_TILES) return;
    htp_act_row rows[COLUMNS];
    htp_planes planes;
    fill(image, tiles);
    for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++)
        planes[p] = (const HVX_Vector *)(data.image + npu_image_plane_at(image, p, 32 * (uint32_t)tiles));
    for (int c = 0; c < COLUMNS; c++) rows[c] = (htp_act_row){data.x[c], data.blocks[c]};
    for (int n = 0; n < 3; n++) {
        memset(y, 0xa5, sizeof y);
        htp_dot[i][n](planes, rows, (uint32_t)tiles, &y[1].v);
        for (int c = 0; c < columns[n]; c++) {
            double scale = 0;
            for (int r = 0; r < 32; r++) scale = fmax(scale, fabsf(reference(f, r, c, tiles)));
            for (int r = 0; r < 32; r++) expect_near(f->name, y[1 + c].f[r], reference(f, r, c, tiles), scale, r);
        }
        for (int v = 0; v < COLUMNS + 2; v++)
            if ((v < 1 || v > columns[n]) && y[v].u[7] != 0xa5a5a5a5) printf("wrote vector %d\n", v), failures++;
    }
}

/* One row's word of every vector, as GET_ROWS brings them; what is behind them in a vector may be anything. */
static void bring(const npu_image_format *image, int tiles, int r, htp_lists lists) {
    static lanes brought[K / 64 + 3 * NPU_IMAGE_PLANES];
    lanes *at = brought;
    memset(brought, 0x7f, sizeof brought);
    for (unsigned p = 0; p < NPU_IMAGE_PLANES; p++) {
        uint32_t n = npu_image_vectors(image, p, 32 * (uint32_t)tiles);
        const uint8_t *plane = data.image + npu_image_plane_at(image, p, 32 * (uint32_t)tiles);
        lists[p] = &at->v;
        for (uint32_t v = 0; v < n; v++) memcpy((uint8_t *)at + 4 * v, plane + 128 * v + 4 * r, 4);
        at += (n + 31) / 32;
    }
}

static void check_row(unsigned i, int blocks) {
    const npu_image_format *image = image_of(i);
    const npu_format *f = npu_format_of(image->type);
    int tiles = blocks * (f->block_values / 32), r = (int)(next() % 32);
    static float want[K];
    htp_lists lists;
    if (tiles > TILES) return;
    fill(image, tiles);
    bring(image, tiles, r, lists);
    memset(values, 0xa5, sizeof values);
    htp_image_row[i](lists, (uint32_t)tiles, &values[1].v);
    npu_quant_dequant_row(f->type, data.raw[r], want, 32 * (size_t)tiles);
    for (int t = 0; t < tiles; t++) {
        npu_block b;
        npu_quant_of(f->type)->block(data.raw[r], (size_t)t, &b);
        for (int k = 0; k < 32; k++) {
            double x = fabs((double)want[32 * t + k]), m = f->flags & NPU_FORMAT_MIN ? b.m * (float)b.min[k / 16] : 0;
            expect_near(f->name, values[1 + t].f[k], want[32 * t + k], x + 2 * fabs(m), 32 * t + k);
        }
    }
    if (values[0].u[31] != 0xa5a5a5a5 || values[1 + tiles].u[0] != 0xa5a5a5a5)
        printf("row of %s: wrote beside its %d tiles\n", f->name, tiles), failures++;
}

int main(int argc, char **argv) {
    int rounds = rounds_of(argc, argv);
    for (int i = 0; i < rounds; i += 4)
        for (unsigned f = 0; f < NPU_IMAGE_COUNT; f++) {
            check_dot(f, 1 + i / 4 % 7);
            check_row(f, 1 + (int)(next() % (next() % 4 ? 17 : TILES)));
        }
    return told();
}
