/* The Hexagon target's own record: a session, resident weights, lowered batches. Private to this folder. */
#ifndef NPU_HEXAGON_INTERNAL_H
#define NPU_HEXAGON_INTERNAL_H

#include "base/pool.h"
#include "target/hexagon/hexagon_repack.h"
#include "target/hexagon/hexagon_session.h"
#include "target/hexagon/hexagon_trace.h"

/* A weight on the device, found by (layer, role, part). */
typedef struct npu_hex_weight {
    uint64_t key; /* 0 = free slot */
    npu_hex_buffer *buffer;
    npu_tensor tensor; /* offset, shape, strides, type, layout in that buffer */
} npu_hex_weight;

/* When an image runs, in a batch that is split by layers: with a few rows after the other, or once at the end. */
typedef enum npu_hex_pass { NPU_HEX_PASS_ALL, NPU_HEX_PASS_ROWS } npu_hex_pass;

/* A lowered batch in shared memory, or a part of one whose buffers do not fit into the NPU's window together; parts
 * follow each other in the list. */
typedef struct npu_hex_image {
    uint64_t id;      /* npu_batch.image_id */
    uint64_t wire_id; /* what the NPU program keeps it under */
    npu_hex_buffer *buffer;
    uint64_t offset;
    uint32_t bytes;
    uint32_t first_op, n_ops; /* of the batch */
    uint32_t device;
    npu_hex_pass pass;
    uint32_t part_rows; /* rows of a step may be sent in parts, each a multiple of this; 0 = not */
    bool goes_on;       /* the image before is the part before it of one program */
} npu_hex_image;

static inline npu_hex_request npu_hex_request_of(const npu_hex_image *m, const npu_step *step) {
    return (npu_hex_request){.image = m->buffer,
                             .offset = m->offset,
                             .image_id = m->wire_id,
                             .bytes = m->bytes,
                             .first_op = m->first_op,
                             .n_ops = m->n_ops,
                             .goes_on = m->goes_on,
                             .step = *step};
}

/* Memory of each device of its own, beside the buffer that the executor knows. */
typedef struct npu_hex_twin {
    const npu_hex_buffer *of;
    npu_hex_buffer *own[NPU_HEX_DEVICES];
    npu_hex_buffer *spare; /* a second one that all share */
    bool is_state;         /* copies of keys and values, not memory for what is made anew */
} npu_hex_twin;

/* Whether key-value heads have copies on several devices (hexagon_parts.h): the same for all batches, since each must
 * write them. */
typedef enum npu_hex_replicas { NPU_HEX_REPLICAS_OPEN, NPU_HEX_REPLICAS_USED, NPU_HEX_REPLICAS_NONE } npu_hex_replicas;

/* Several devices at work on one batch (hexagon_group.c). */
typedef struct npu_hex_group {
    uint32_t next; /* what the next batch's fences count from */
    uint64_t batches, first[NPU_HEX_DEVICES],
        last[NPU_HEX_DEVICES]; /* each device's requests without results; last 0 = none */
    uint64_t until_us;
    uint32_t last_word[NPU_HEX_DEVICES]; /* npu_wire_code that the host said in a device's place; 0 = nothing */
    const npu_batch *batch;              /* under way */
    bool under_way;
    npu_error result; /* of the last batch */
    npu_hex_twin twins[4];
    uint32_t n_twins;
    npu_hex_replicas replicas;
    npu_hex_buffer *passing; /* between the devices of a batch that is not kept */
} npu_hex_group;

extern const npu_target_ops npu_target_hexagon;

typedef struct npu_hex_target {
    npu_target base; /* first: an npu_target* of this target is an npu_hex_target* */
    npu_hex_driver driver;
    npu_hex_set set;
    npu_hex_session *session;                   /* the first one, which owns shared buffers */
    npu_hex_session *sessions[NPU_HEX_DEVICES]; /* [set.n] */
    npu_hex_group group;                        /* when there are several */
    npu_hex_buffer *fences;                     /* " */
    npu_hex_tracer *tracers[NPU_HEX_DEVICES];   /* [set.n], NULL = off */
    npu_pool *pool;                             /* for packing */
    npu_hex_row_tile_fn *const *row_tiles;      /* of this CPU */
    const npu_weight_cache *cache;              /* NULL = none */
    uint64_t session_id;
    uint8_t *layer_device; /* of a model split by layers, as the plan says; [n_layers] */
    uint32_t n_layers;
    npu_hex_weight *weights; /* open hash table */
    uint32_t n_weights, weight_slots;
    npu_hex_image *images;
    uint32_t n_images, image_slots;
    npu_hex_buffer *image_arena;
    uint64_t arena_used, next_wire_id;
    npu_hw layout_hw;     /* what the plan counts on; without one, the device's own */
    uint64_t chunk_bytes; /* weights share buffers up to this size */
    uint64_t step_bytes;  /* what a part of a batch maps, if one op does not need more */
    uint64_t unkept;      /* sequence of the last batch whose image is not kept */
} npu_hex_target;

/* --- hexagon_weights.c --- */
npu_status npu_hex_load(npu_hex_target *t, unsigned first_layer, unsigned n_layers, const npu_weight_source *source,
                        npu_error *err);
const npu_hex_weight *npu_hex_weight_find(const npu_hex_target *t, unsigned layer, unsigned role, unsigned part);
void npu_hex_weights_free(npu_hex_target *t);

/* How a weight of this shape will lie on the device: fills layout and strides. */
void npu_hex_weight_layout(npu_tensor *t);

/* --- hexagon_pack.c --- */

/* Writes |w| to |out| in the layout of |as|. */
void npu_hex_pack(npu_pool *pool, npu_hex_row_tile_fn *const *row_tiles, const npu_weight *w, const npu_tensor *as,
                  uint8_t *out);
npu_status npu_hex_pack_alone(const npu_target_params *params, npu_pool *pool, const npu_weight *w, uint8_t *out,
                              npu_error *err);

/* --- hexagon_lower.c --- */

/* The images of a batch, |*n| parts: the kept ones, or new ones in shared memory. Valid until the next call. */
npu_status npu_hex_lower(npu_hex_target *t, const npu_batch *batch, const npu_hex_image **out, uint32_t *n,
                         npu_error *err);
void npu_hex_images_free(npu_hex_target *t);

/* --- hexagon_group.c --- */
npu_status npu_hex_group_open(npu_hex_target *t, const npu_target_params *params, npu_error *err);
npu_status npu_hex_group_obey(npu_hex_target *t, const npu_plan *plan, npu_error *err);
void npu_hex_group_close(npu_hex_target *t);
npu_status npu_hex_alloc_shared(npu_hex_target *t, uint64_t bytes, bool pinned, npu_hex_buffer **out, npu_error *err);
/* The device's own memory at the same offsets as |of|. */
npu_status npu_hex_group_twin(npu_hex_target *t, const npu_hex_buffer *of, uint32_t device, npu_hex_buffer **out,
                              npu_error *err);
/* The same of state: a copy, which npu_hex_group_sync keeps up with what the host writes. */
npu_status npu_hex_group_replica(npu_hex_target *t, const npu_hex_buffer *of, uint32_t device,
                                 const npu_hex_buffer **out, npu_error *err);
/* Gives back all copies of state: no batch that uses them was sent. */
void npu_hex_group_drop_replicas(npu_hex_target *t);
void npu_hex_group_sync(npu_hex_target *t, const npu_hex_buffer *of, uint64_t offset, uint64_t bytes);
/* A second buffer of all devices, likewise. */
npu_status npu_hex_group_spare(npu_hex_target *t, const npu_hex_buffer *of, npu_hex_buffer **out, npu_error *err);
/* A buffer of all devices for what passes between those of one batch. That of a kept batch (|image_id| not 0) stays to
 * the end; batches that are not kept share one. */
npu_status npu_hex_group_passing(npu_hex_target *t, uint64_t image_id, uint64_t bytes, npu_hex_buffer **out,
                                 npu_error *err);
/* Gives back |b|, NULL or that of a batch that was not lowered after all. */
void npu_hex_group_drop_passing(uint64_t image_id, npu_hex_buffer *b);
/* Frees what there is beside |of|, which is about to be freed: no batch under way may use it. */
void npu_hex_group_forget(npu_hex_target *t, const npu_hex_buffer *of);
/* The device that has a layer; NPU_NO_LAYER: UINT32_MAX, wherever its neighbours are. */
uint32_t npu_hex_group_device(const npu_hex_target *t, unsigned layer);
void npu_hex_group_count(const npu_hex_target *t, npu_target_counters *out);

/* --- hexagon_group_run.c --- */
npu_status npu_hex_group_submit(npu_hex_target *t, const npu_batch *batch, npu_event *event, npu_error *err);
npu_status npu_hex_group_wait(npu_hex_target *t, uint64_t batch, npu_error *err);

/* --- hexagon_plan.c --- */
void npu_hex_weight_image(const npu_tensor *weight, const char **kind, uint64_t *bytes);
npu_status npu_hex_spread(npu_plan *plan, npu_error *err);
npu_status npu_hex_check_plan(const npu_caps *caps, const npu_plan *plan, npu_error *err);
/* Fixes how weights will lie in buffers; |plan| or NULL. */
void npu_hex_place_weights(npu_hex_target *t, const npu_plan *plan);
/* What is left for weights beside that which every batch uses. */
uint64_t npu_hex_free_window(const npu_hw *hw, const npu_plan *plan);
/* In how many buffers a weight lies. */
uint32_t npu_hex_weight_parts(const npu_plan *plan, const npu_tensor *weight);

bool npu_hex_supports(const npu_caps *caps, npu_mode mode, const npu_op *op, const npu_tensor *tensors,
                      const char **why_not);

#endif
