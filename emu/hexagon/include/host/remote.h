// Host interface of FastRPC: handles, invocations, mappings, session and domain requests. Names, numbers and layouts
// are the public ones; the text is our own.
#ifndef NPU_EMU_HOST_REMOTE_H
#define NPU_EMU_HOST_REMOTE_H

#include "../common/remote_args.h"

#define ADSP_DOMAIN_ID  0
#define MDSP_DOMAIN_ID  1
#define SDSP_DOMAIN_ID  2
#define CDSP_DOMAIN_ID  3
#define CDSP1_DOMAIN_ID 4

#define MAX_DOMAIN_URI_SIZE 12

int remote_handle_open(const char *name, remote_handle *handle);
int remote_handle_invoke(remote_handle handle, uint32_t scalars, remote_arg *args);
int remote_handle_close(remote_handle handle);
int remote_handle_control(uint32_t request, void *data, uint32_t data_bytes);

// |uri| file:///lib<name>.so?<interface>_skel_handle_invoke&_modver=1.0&_dom=cdsp[&_session=n]
int remote_handle64_open(const char *uri, remote_handle64 *handle);
int remote_handle64_invoke(remote_handle64 handle, uint32_t scalars, remote_arg *args);
int remote_handle64_close(remote_handle64 handle);
int remote_handle64_control(remote_handle64 handle, uint32_t request, void *data, uint32_t data_bytes);

int remote_session_control(uint32_t request, void *data, uint32_t data_bytes);
int remote_set_mode(uint32_t mode);

enum fastrpc_map_flags {
    FASTRPC_MAP_STATIC = 0,
    FASTRPC_MAP_RESERVED = 1,
    FASTRPC_MAP_FD = 2,
    FASTRPC_MAP_FD_DELAYED = 3,
    FASTRPC_MAP_FD_NOMAP = 16,
    FASTRPC_MAP_FD_EXTENDED = 17,
    FASTRPC_MAP_FD_DELAYED_EXTENDED = 18,
};

int fastrpc_mmap(int domain, int fd, void *addr, int offset, size_t length, enum fastrpc_map_flags flags);
int fastrpc_munmap(int domain, int fd, void *addr, size_t length);

void remote_register_buf(void *buf, int size, int fd);
void remote_register_buf_attr(void *buf, int size, int fd, int attr);
void remote_register_buf_attr2(void *buf, size_t size, int fd, int attr);

// remote_handle_control and remote_handle64_control
enum handle_control_req_id {
    DSPRPC_CONTROL_LATENCY = 1,
    DSPRPC_GET_DSP_INFO = 2,
    DSPRPC_CONTROL_WAKELOCK = 3,
    DSPRPC_GET_DOMAIN = 4,
    DSPRPC_SET_PATH = 5,
    DSPRPC_GET_PATH = 6,
};

struct remote_rpc_control_latency {
    uint32_t enable;
    uint32_t latency;
};

struct remote_rpc_control_wakelock {
    uint32_t enable;
};

typedef struct remote_rpc_get_domain {
    int domain;
} remote_rpc_get_domain_t;

enum remote_rpc_latency_flags {
    RPC_DISABLE_QOS = 0,
    RPC_PM_QOS = 1,
    RPC_ADAPTIVE_QOS = 2,
    RPC_POLL_QOS = 3,
};

typedef struct remote_dsp_capability {
    uint32_t domain;
    uint32_t attribute_ID;
    uint32_t capability;
} fastrpc_capability;

enum remote_dsp_attributes {
    DOMAIN_SUPPORT = 0,
    UNSIGNED_PD_SUPPORT = 1,
    HVX_SUPPORT_64B = 2,
    HVX_SUPPORT_128B = 3,
    VTCM_PAGE = 4,
    VTCM_COUNT = 5,
    ARCH_VER = 6,
    HMX_SUPPORT_DEPTH = 7,
    HMX_SUPPORT_SPATIAL = 8,
    ASYNC_FASTRPC_SUPPORT = 9,
    STATUS_NOTIFICATION_SUPPORT = 10,
    MCID_MULTICAST = 11,
    EXTENDED_MAP_SUPPORT = 12,
    HANDLE_PRIORITY_SUPPORT = 13,
};

// remote_session_control
enum session_control_req_id {
    FASTRPC_THREAD_PARAMS = 1,
    DSPRPC_CONTROL_UNSIGNED_MODULE = 2,
    FASTRPC_RELATIVE_THREAD_PRIORITY = 4,
    FASTRPC_REMOTE_PROCESS_KILL = 6,
    FASTRPC_SESSION_CLOSE = 7,
    FASTRPC_CONTROL_PD_DUMP = 8,
    FASTRPC_REMOTE_PROCESS_EXCEPTION = 9,
    FASTRPC_REMOTE_PROCESS_TYPE = 10,
    FASTRPC_REGISTER_STATUS_NOTIFICATIONS = 11,
    FASTRPC_PD_INITMEM_SIZE = 12,
    FASTRPC_RESERVE_NEW_SESSION = 13,
    FASTRPC_GET_EFFECTIVE_DOMAIN_ID = 14,
    FASTRPC_GET_URI = 15,
    FASTRPC_MAX_THREAD_PARAM = 16,
    FASTRPC_CONTEXT_CREATE = 17,
    FASTRPC_CONTEXT_DESTROY = 18,
};

struct remote_rpc_thread_params {
    int domain;
    int prio;
    int stack_size;
};

struct remote_rpc_control_unsigned_module {
    int domain;
    int enable;
};

struct remote_rpc_relative_thread_priority {
    int domain;
    int relative_thread_priority;
};

struct remote_rpc_process_clean_params {
    int domain;
};

struct remote_rpc_session_close {
    int domain;
};

struct remote_rpc_control_pd_dump {
    int domain;
    int enable;
};

typedef struct remote_rpc_process_exception {
    int domain;
} remote_rpc_process_exception;

struct remote_process_type {
    int domain;
    int process_type;
};

typedef enum remote_rpc_status_flags {
    FASTRPC_USER_PD_UP = 0,
    FASTRPC_USER_PD_EXIT = 1,
    FASTRPC_USER_PD_FORCE_KILL = 2,
    FASTRPC_USER_PD_EXCEPTION = 3,
    FASTRPC_DSP_SSR = 4,
} remote_rpc_status_flags_t;

typedef int (*fastrpc_notif_fn_t)(void *context, int domain, int session, remote_rpc_status_flags_t status);

typedef struct remote_rpc_notif_register {
    void *context;
    int domain;
    fastrpc_notif_fn_t notifier_fn;
} remote_rpc_notif_register_t;

struct remote_rpc_pd_initmem_size {
    int domain;
    uint32_t pd_initmem_size;
};

typedef struct remote_rpc_reserve_new_session {
    char *domain_name;
    uint32_t domain_name_len;
    char *session_name;
    uint32_t session_name_len;
    uint32_t effective_domain_id;
    uint32_t session_id;
} remote_rpc_reserve_new_session_t;

typedef struct remote_rpc_effective_domain_id {
    char *domain_name;
    uint32_t domain_name_len;
    uint32_t session_id;
    uint32_t effective_domain_id;
} remote_rpc_effective_domain_id_t;

typedef struct remote_rpc_get_uri {
    char *domain_name;
    uint32_t domain_name_len;
    uint32_t session_id;
    char *module_uri;
    uint32_t module_uri_len;
    char *uri;
    uint32_t uri_len;
} remote_rpc_get_uri_t;

// remote_system_request: only in vendor libraries, so a caller looks it up and must live without it.
typedef enum fastrpc_domain_type {
    FASTRPC_ALL_DOMAINS = 0,
    FASTRPC_NSP = 1,
    FASTRPC_LPASS = 2,
    FASTRPC_SDSP = 3,
    FASTRPC_MODEM = 4,
    FASTRPC_HPASS = 5,
} fastrpc_domain_type;

#define FASTRPC_DOMAIN_NAME_BYTES 30

typedef struct fastrpc_domain {
    int id;
    char name[FASTRPC_DOMAIN_NAME_BYTES];
    fastrpc_domain_type type;
    int status;
    uint32_t card;
    uint32_t soc_id;
} fastrpc_domain;

typedef enum system_req_id {
    FASTRPC_GET_DOMAINS = 0,
} system_req_id;

typedef struct fastrpc_domains_info {
    fastrpc_domain *domains;
    int max_domains;
    int num_domains;
    uint64_t flags;
} fastrpc_domains_info;

typedef struct system_req_payload {
    system_req_id id;
    union {
        fastrpc_domains_info sys;
    };
} system_req_payload;

int remote_system_request(system_req_payload *request);

#endif
