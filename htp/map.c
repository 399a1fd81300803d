#include "htp/map.h"

#include "htp/platform/hap.h"
#include "wire/guard.h"

enum { ENTRIES = 2 * NPU_WIRE_MAX_BUFFERS };

void htp_map_init(htp_map *map, uint64_t window_bytes, uint32_t arch) {
    *map = (htp_map){.window_bytes = window_bytes, .arch = arch};
    qurt_mutex_init(&map->lock);
    qurt_cond_init(&map->released);
}

void *htp_map_raw(uint32_t arch, int32_t fd, uint64_t bytes) {
    int prot = HAP_PROT_READ | HAP_PROT_WRITE | HAP_MEM_CACHE_WRITEBACK;
    void *p = (void *)-1;
    if (arch > 73)
        p = HAP_mmap2(0, (size_t)bytes, prot, 0, fd, 0);
    else if (bytes < 1u << 31)
        p = HAP_mmap(0, (int)bytes, prot, 0, fd, 0);
    return p == (void *)-1 ? 0 : p;
}

void htp_unmap_raw(uint32_t arch, void *address, uint64_t bytes) {
    if (arch > 73)
        HAP_munmap2(address, (size_t)bytes);
    else
        HAP_munmap(address, (int)bytes);
}

static void unmap(htp_map *map, htp_mapping *m) {
    htp_unmap_raw(map->arch, m->address, m->bytes);
    map->mapped_bytes -= m->bytes;
    map->mapped--;
    *m = (htp_mapping){0};
}

void htp_map_close(htp_map *map) {
    for (unsigned i = 0; i < ENTRIES; i++)
        if (map->entries[i].address) unmap(map, &map->entries[i]);
    qurt_cond_destroy(&map->released);
    qurt_mutex_destroy(&map->lock);
}

static htp_mapping *find(htp_map *map, int32_t fd) {
    for (unsigned i = 0; i < ENTRIES; i++)
        if (map->entries[i].address && map->entries[i].fd == fd) return &map->entries[i];
    return 0;
}

/* Whether |a| goes before |b| (map.h). */
static int goes_first(const htp_map *map, const htp_mapping *a, const htp_mapping *b) {
    enum { LONG = 4096 }; /* batches: more than any step has */
    uint64_t age_a = map->uses - a->last_use, age_b = map->uses - b->last_use;
    if (a->pinned != b->pinned) return a->pinned < b->pinned;
    return age_a > LONG || age_b > LONG ? age_a > age_b : age_a < age_b;
}

/* Gives up a mapping; 0 when all are in use. */
static int evict(htp_map *map) {
    htp_mapping *victim = 0;
    for (unsigned i = 0; i < ENTRIES; i++) {
        htp_mapping *m = &map->entries[i];
        if (!m->address || m->in_use) continue;
        if (!victim || goes_first(map, m, victim)) victim = m;
    }
    if (!victim) return 0;
    unmap(map, victim);
    return 1;
}

static htp_mapping *free_entry(htp_map *map) {
    do {
        for (unsigned i = 0; i < ENTRIES; i++)
            if (!map->entries[i].address) return &map->entries[i];
    } while (evict(map));
    return 0;
}

static htp_mapping *add(htp_map *map, htp_mapping *m, const npu_wire_buffer *b, uint8_t *address) {
    *m = (htp_mapping){.address = address, .bytes = b->bytes, .fd = b->fd};
    map->mapped_bytes += b->bytes;
    map->ever_mapped_bytes += b->bytes;
    if (map->most_bytes < map->mapped_bytes) map->most_bytes = map->mapped_bytes;
    if (map->most < ++map->mapped) map->most = map->mapped;
    return m;
}

/* Why a buffer can't be mapped, when all that may go has gone. */
static uint32_t why_not(const htp_map *map, const npu_wire_buffer *b) {
    int fitted = map->mapped < map->most && map->mapped_bytes + b->bytes <= map->most_bytes;
    return fitted ? NPU_WIRE_MAP_KEPT : NPU_WIRE_MAP_FAILED;
}

static htp_mapping *map_buffer(htp_map *map, const npu_wire_buffer *b) {
    while (map->mapped_bytes + b->bytes > map->window_bytes)
        if (!evict(map)) return 0;
    htp_mapping *m = free_entry(map);
    if (!m) return 0;
    for (;;) {
        void *p = htp_map_raw(map->arch, b->fd, b->bytes);
        if (p) return add(map, m, b, p);
        if (!evict(map)) return 0;
    }
}

uint32_t htp_map_take(htp_map *map, const npu_wire_buffer *buffers, uint32_t n, uint8_t **addresses, uint32_t *index) {
    uint32_t code = NPU_WIRE_OK;
    qurt_mutex_lock(&map->lock);
    map->uses++;
    /* Those that are there first, so that mapping the others can't push them out. A buffer that was mapped with another
     * size is not the one the host means: it is mapped anew. */
    for (uint32_t i = 0; i < n; i++) {
        htp_mapping *m = find(map, buffers[i].fd);
        if (m && m->bytes != buffers[i].bytes && NPU_GUARD(MAP_OTHER_SIZE))
            unmap(map, m);
        else if (m)
            m->in_use = 1;
    }
    for (uint32_t i = 0; i < n && code == NPU_WIRE_OK; i++) {
        htp_mapping *m = find(map, buffers[i].fd);
        if (!m) m = map_buffer(map, &buffers[i]);
        if (m) {
            m->in_use = 1;
            m->last_use = map->uses;
            m->pinned = buffers[i].flags & NPU_WIRE_BUFFER_PINNED ? 1 : 0;
            addresses[i] = m->address;
        } else {
            *index = i;
            code = why_not(map, &buffers[i]);
        }
    }
    qurt_mutex_unlock(&map->lock);
    if (code != NPU_WIRE_OK) htp_map_release(map);
    return code;
}

void htp_map_release(htp_map *map) {
    qurt_mutex_lock(&map->lock);
    for (unsigned i = 0; i < ENTRIES; i++) map->entries[i].in_use = 0;
    qurt_cond_broadcast(&map->released);
    qurt_mutex_unlock(&map->lock);
}

void htp_map_drop(htp_map *map, int32_t fd) {
    qurt_mutex_lock(&map->lock);
    htp_mapping *m;
    while ((m = find(map, fd)) && m->in_use) qurt_cond_wait(&map->released, &map->lock);
    if (m) unmap(map, m);
    qurt_mutex_unlock(&map->lock);
}
